// The console as a whole: who is signed in, the frame around each page, and the page that the address names.
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Toasts } from '../ui/actions.tsx';
import { Empty, Failure } from '../ui/failure.tsx';
import { type PageProps, to, useAddress } from './address.ts';
import { Frame } from './frame.tsx';
import { pageAt } from './pages.ts';
import { SessionProvider, useSession } from './session.tsx';

export function App() {
  useKeptFocus();
  return (
    <SessionProvider>
      <Frame>
        <CurrentPage />
      </Frame>
      <Toasts />
    </SessionProvider>
  );
}

const RETRY_MS = 1000;

/** Whether the service answers at all. */
const answers = () =>
  fetch(to('/jobs'), { method: 'HEAD', cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  );

function CurrentPage() {
  const { path } = useAddress();
  const session = useSession();
  const found = pageAt(path);
  const page = found?.page;
  const [loaded, setLoaded] = useState<{ path: string; Page: ComponentType<PageProps> } | null>(null);
  const [failure, setFailure] = useState<'away' | 'stale' | null>(null);

  useEffect(() => {
    if (!page) return;
    document.title = `${page.title} · URL checker`;
    let timer: ReturnType<typeof setTimeout>;
    let is_current = true;
    /** `was_there`: the service answered after an earlier failure, so that another one means that it has this page no more. */
    const load = (was_there: boolean) =>
      page.load().then(
        ({ Page }) => {
          if (is_current) setLoaded({ path: page.path, Page });
          if (is_current) setFailure(null);
        },
        async () => {
          const is_there = await answers();
          if (!is_current) return;
          if (is_there && was_there) return setFailure('stale');
          if (!is_there) setFailure('away');
          timer = setTimeout(load, RETRY_MS, is_there);
        },
      );
    load(false);
    return () => {
      is_current = false;
      clearTimeout(timer);
    };
  }, [page]);

  if (failure === 'away') {
    return (
      <Empty title="The service cannot be reached" is_page>
        <p role="status">Trying again …</p>
      </Empty>
    );
  }
  if (failure === 'stale') {
    return (
      <Empty title="This page is of an older version of the service" is_page>
        <a href={location.href} target="_self" class="button">
          Load the new version
        </a>
      </Empty>
    );
  }
  if (!page) {
    return (
      <Empty title="There is no such page" is_page>
        <a href={to('/jobs')}>Your jobs</a>
      </Empty>
    );
  }
  if (page.access !== 'none' && !session.value) {
    if (session.error?.status === 401) return <SignInFirst />;
    return session.error ? <Failure of={session} title={page.title} /> : null;
  }
  if (page.access === 'admin' && !session.value?.flags.is_admin)
    return <Empty title="Only administrators may see this" is_page />;
  if (loaded?.path !== page.path) return null;
  return <loaded.Page key={path} params={found.params} />;
}

function SignInFirst() {
  const { path, query } = useAddress();
  const next = `${path}${query.size ? `?${query}` : ''}`;
  return (
    <Empty title="You are not signed in" is_page>
      <a href={to('/sign-in', { next: next === '/jobs' ? undefined : next })} class="button">
        Sign in
      </a>
    </Empty>
  );
}

// The focus stays where the reader was: when the element that has it leaves the page, what stood around it takes it.

/** What takes the focus without being a control: a table, a dialog, the page. */
const PLACES = 'section[tabindex], dialog[open], main';

/** Without this a deleted row, or a row that scrolls out of view, leaves the next Tab at the top of the document. */
function useKeptFocus(): void {
  useEffect(() => {
    let path: readonly Element[] = [];
    const remember = ({ target }: FocusEvent) => {
      path = [];
      for (let at = target as Element | null; at; at = at.parentElement) path = [...path, at];
    };
    const changed = new MutationObserver(() => {
      if (path.length === 0 || path[0]!.isConnected || document.activeElement !== document.body) return;
      const place = path.find((element) => element.isConnected && element.matches(PLACES));
      path = [];
      (place instanceof HTMLElement ? place : document.getElementById('page'))?.focus({ preventScroll: true });
    });
    addEventListener('focusin', remember);
    changed.observe(document.body, { childList: true, subtree: true });
    return () => {
      removeEventListener('focusin', remember);
      changed.disconnect();
    };
  }, []);
}
