// Reads the links of documents and presentations, DOCX, PPTX and OpenDocument, and the URLs in their text, a row for each paragraph.
import { textWithLinks } from './cell-links.ts';
import { isAttempt } from './cell-urls.ts';
import { IntakeError } from './errors.ts';
import type { IntakeLimits } from './limits.ts';
import { readPart } from './read-part.ts';
import type { Cell, Sheet } from './sheet.ts';
import { pagesOfTexts } from './sliced-texts.ts';
import { relationshipsOf } from './xlsx/workbook.ts';
import { attributeOf } from './xml.ts';
import { ZipPackage } from './zip-package.ts';

interface DocumentKind {
  name: string;
  /** The part that tells the kind. */
  part: string;
  /** The parts with text, in lower case. */
  text_parts: RegExp;
}

const KINDS: readonly DocumentKind[] = [
  {
    name: 'Word document',
    part: 'word/document.xml',
    text_parts: /^word\/(?:document|footnotes|endnotes|comments|header\d*|footer\d*)\.xml$/,
  },
  {
    name: 'PowerPoint presentation',
    part: 'ppt/presentation.xml',
    text_parts: /^ppt\/(?:slides\/slide|notesslides\/notesslide)\d+\.xml$/,
  },
  { name: 'OpenDocument text', part: 'content.xml', text_parts: /^content\.xml$/ },
];
/** `HYPERLINK "https://…"` of a field. */
const FIELD = /HYPERLINK\s+"([^"]{1,4096})"/;
const MAX_PARAGRAPH_CHARS = 1_000_000;
/** Links that are kept before they are passed on. */
const MAX_LINKS = 1_000;
const READING = { has_notes: true, takes_names: false };

/** The kind of document that a package is; null for another one. */
export const documentKindOf = (zip: ZipPackage): DocumentKind | null => KINDS.find(({ part }) => zip.has(part)) ?? null;

/** Throws `no_urls` for a document without a link: what is no link in it may be any text. */
export async function openDocument(path: string, kind: DocumentKind, limits: IntakeLimits): Promise<Sheet> {
  const seen = { paragraphs: 0, links: 0 };
  for await (const _ of documentCells(path, kind, limits, seen)) if (seen.links > 0) break;
  if (seen.links === 0) {
    const advice = 'Turn the URLs in its text into links, or copy its text into a text file.';
    throw new IntakeError('no_urls', `The ${kind.name} has no links. ${advice}`);
  }
  const cells = () => documentCells(path, kind, limits, { paragraphs: 0, links: 0 });
  return {
    format: 'document',
    encoding: 'utf-8',
    delimiter: null,
    sheet_name: null,
    column: { index: 0, name: null },
    other_columns: [],
    warnings: [],
    cells,
  };
}

interface Seen {
  paragraphs: number;
  links: number;
}

async function* documentCells(
  path: string,
  kind: DocumentKind,
  limits: IntakeLimits,
  seen: Seen,
): AsyncGenerator<Cell[]> {
  const zip = await ZipPackage.open(path, limits.max_inflated_bytes);
  try {
    for (const part of zip.partsLike(kind.text_parts)) {
      for await (const some of paragraphsOf(zip, part, seen, limits.max_url_chars)) {
        for await (const page of pagesOfTexts(some, READING)) yield page.filter(({ value }) => isAttempt(value));
      }
    }
  } finally {
    zip.close();
  }
}

/** The paragraphs with a link or something like a URL, which are numbered through all parts. */
async function* paragraphsOf(zip: ZipPackage, part: string, seen: Seen, max_url_chars: number): AsyncGenerator<Cell[]> {
  const targets = new Map((await relationshipsOf(zip, part)).map(({ id, target }) => [id, target]));
  let page: Cell[] = [];
  let text = '';
  let field = '';
  let links: string[] = [];
  let is_field = false;
  const end = () => {
    const linked = FIELD.exec(field)?.[1];
    if (linked !== undefined) links.push(linked);
    seen.paragraphs++;
    seen.links += links.length;
    if (links.length > 0 || text.includes('://') || /www\./i.test(text)) {
      page.push({ row: seen.paragraphs, value: textWithLinks(text, links, max_url_chars) });
    }
    text = field = '';
    links = [];
  };
  const reading = readPart(zip, part, {
    open(name, attributes) {
      is_field = name === 'instrText';
      if (name === 'fldSimple') field += attributeOf(attributes, 'instr') ?? '';
      else if (name === 'tab' || name === 'br' || name === 's' || name === 'line-break') text += ' ';
      if (links.length === MAX_LINKS) {
        page.push({ row: seen.paragraphs + 1, value: links.join('\n') });
        seen.links += links.length;
        links = [];
      }
      const target = targets.get(attributeOf(attributes, 'id') ?? '');
      if ((name === 'hyperlink' || name === 'hlinkClick') && target !== undefined) links.push(target);
      else if (name === 'a' && attributes['xlink:href'] !== undefined) links.push(attributes['xlink:href']);
    },
    text(more) {
      if (is_field) field = (field + more).slice(0, MAX_PARAGRAPH_CHARS);
      else if (text.length < MAX_PARAGRAPH_CHARS) text += more;
    },
    close(name) {
      is_field = false;
      if (name === 'p' || name === 'h') end();
    },
  });
  for await (const _ of reading) {
    if (page.length > 0) yield page;
    page = [];
  }
  end();
  if (page.length > 0) yield page;
}
