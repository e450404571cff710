// A shop that keeps no status: what it does not have is a page of it too.
import { type Behaviour, html, page } from './test-site.ts';

/** Three in four are pages of their own; the rest is one page, with the title of a page that is not there when `said`. */
export const shop =
  (said: boolean): Behaviour =>
  ({ path }, socket) => {
    const n = /item-(\d+)\.html$/.exec(path)?.[1];
    if (n !== undefined && Number(n) % 4 !== 0)
      page(socket, html(`Thing ${n}`, `Number ${n}`, `Words on ${n}. `.repeat(20)));
    else page(socket, html(said ? 'Page not found | Shop' : 'Shop', 'Have a look at all our things'));
  };

export const shopUrls = (origin: string, folders: number, in_each: number) =>
  Array.from({ length: folders * in_each }, (_, i) => `${origin}/f${i % folders}/item-${i}.html`);
