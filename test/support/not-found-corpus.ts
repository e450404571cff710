// The texts of not-found pages that projects ship in their own translations (test/corpus/not-found), as pages of each project's
// shape. Whole projects are for tuning or for measuring.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { halfOf } from './halves.ts';

interface Source {
  source: string;
  kind: string;
  /** Level of the tag that holds the heading; 0 for an element that is no heading. */
  heading: string;
  /** What follows the text in the title tag. In brackets: the whole title, which says nothing of the page. */
  title_end: string;
  body_class: string;
}

export interface NotFoundText {
  source: string;
  language: string;
  title: string;
  heading: string;
  text: string;
}

export interface NotFoundPage {
  source: string;
  language: string;
  kind: string;
  set: 'tune' | 'measure';
  html: string;
}

const FOLDER = join(import.meta.dirname, '../corpus/not-found');

function readTable<Row>(name: string): Row[] {
  const [head, ...rows] = readFileSync(join(FOLDER, name), 'utf8').trimEnd().split('\n');
  const names = head!.split('\t');
  return rows.map((row) => {
    const cells = row.split('\t');
    return Object.fromEntries(names.map((column, at) => [column, cells[at] ?? ''])) as Row;
  });
}

const SOURCES = new Map(readTable<Source>('sources.tsv').map((source) => [source.source, source]));

export const NOT_FOUND_PAGES: readonly NotFoundPage[] = readTable<NotFoundText>('texts.tsv').map((row) => {
  const source = SOURCES.get(row.source)!;
  return {
    source: row.source,
    language: row.language,
    kind: source.kind,
    set: halfOf(row.source),
    html: pageOf(row, source),
  };
});

/** Real pages with long texts, whose titles only sound as if they were missing. */
export const SOUNDS_LIKE: readonly { language: string; set: 'tune' | 'measure'; title: string; html: string }[] =
  readTable<{
    language: string;
    title: string;
    sentence: string;
  }>('sounds-like.tsv').map(({ language, title, sentence }) => ({
    language,
    title,
    set: halfOf(title),
    html: longPage(title, sentence),
  }));

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

function pageOf({ title, heading, text }: NotFoundText, source: Source): string {
  const fixed = /^\[(.*)\]$/.exec(source.title_end);
  const label = fixed === null ? title + source.title_end : fixed[1]!;
  const tag = source.heading === '0' ? 'div' : `h${source.heading}`;
  const shown = heading === '' ? '' : `<${tag}>${escaped(heading)}</${tag}>`;
  return `<!doctype html><html><head><meta charset="utf-8"><title>${escaped(label)}</title></head>
<body class="${source.body_class}"><nav><a href="/">Home</a> <a href="/about">About</a> <a href="/contact">Contact</a></nav>
<main>${shown}<p>${escaped(text)}</p><p><a href="/">Home</a></p></main>
<footer><p>© 2026 Example. All rights reserved.</p></footer></body></html>`;
}

function longPage(title: string, sentence: string): string {
  const paragraph = `<p>${escaped(`${sentence} `.repeat(6))}</p>`;
  const times = Math.ceil(3000 / (sentence.length * 6));
  return `<!doctype html><html><head><title>${escaped(title)} | Example</title></head>
<body><nav><a href="/">Home</a></nav><main><h1>${escaped(title)}</h1>${paragraph.repeat(times)}</main></body></html>`;
}
