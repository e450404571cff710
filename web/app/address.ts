// The address of the page. What a page shows (its filters, its sort, its tab) is in the address, so that a link and Back reproduce it.
import { useLayoutEffect, useState } from 'preact/hooks';

/** Where the service is, without a slash at its end; not empty behind a proxy that serves it under a path. */
export const SERVICE = document.documentElement.dataset.base ?? '';
const CONSOLE = `${SERVICE}/console`;

export interface Address {
  /** Below the console: `/jobs/1`. */
  path: string;
  query: URLSearchParams;
}

const changes = new EventTarget();
const current = (): Address => ({
  path: location.pathname.startsWith(`${CONSOLE}/`) ? location.pathname.slice(CONSOLE.length) : '/jobs',
  query: new URLSearchParams(location.search),
});

/** @example <a href={to('/jobs', { status: 'paused' })}> */
export function to(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(given as [string, string][]).toString();
  return `${CONSOLE}${path}${search && `?${search}`}`;
}

/** Shows the page at `href`. `replace` leaves no step for Back. */
export function go(href: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  if (!replace) scrollTo(0, 0);
  changes.dispatchEvent(new Event('change'));
}

/** Changes parameters of the address; an empty or undefined one leaves it. */
export function setQuery(changed: Readonly<Record<string, string | undefined>>, options?: { replace?: boolean }): void {
  const { path, query } = current();
  go(to(path, { ...Object.fromEntries(query), ...changed }), options);
}

export function useAddress(): Address {
  const [address, setAddress] = useState(current);
  // An effect would begin to listen a frame later, and not hear of a change before that.
  useLayoutEffect(() => {
    const update = () => setAddress(current());
    changes.addEventListener('change', update);
    addEventListener('popstate', update);
    return () => {
      changes.removeEventListener('change', update);
      removeEventListener('popstate', update);
    };
  }, []);
  return address;
}

/** Plain clicks on links of the console load no document. */
export function followLinks(): void {
  addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element && event.target.closest('a');
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (!link.pathname.startsWith(`${CONSOLE}/`)) return;
    // A place in this page, such as its beginning: the browser goes there, and takes the focus along.
    if (link.hash && link.pathname === location.pathname && link.search === location.search) return;
    event.preventDefault();
    go(link.href);
  });
}

// What a page is given.
export interface PageProps {
  /** The parts of the path that its pattern names. */
  params: Readonly<Record<string, string>>;
}
