// Parses XML as events, a piece at a time. It refuses XML that is not well-formed, too deep, or has too long a text between
// tags, which bounds the memory of the parser. Entities of the document's own are errors, so none can expand.
import { SaxesParser } from 'saxes';
import { breather } from '../time/event-loop.ts';

export interface XmlHandlers {
  /** Names come without a namespace prefix. */
  open(name: string, attributes: Record<string, string>, line: number): void;
  close?(name: string): void;
  text?(text: string): void;
}

export const MAX_DEPTH = 64;
/** A spreadsheet's cell has at most 32,767 characters. */
export const MAX_CHARS_BETWEEN_TAGS = 1024 * 1024;
/** A piece of cells that all name one long shared string stays small in memory. */
export const PIECE_CHARS = 8 * 1024;

/** Throws the error to report for what is wrong with the XML. */
export type Refuse = (detail: string) => never;

/** Yields after each piece, so that the caller can pass on its results. Ending the iteration stops the reading. */
export async function* parseXml(
  pieces: AsyncIterable<string>,
  handlers: XmlHandlers,
  refuse: Refuse,
): AsyncGenerator<void> {
  const parser = new SaxesParser();
  const breathe = breather();
  let depth = 0;
  let chars_since_tag = 0;
  parser.on('opentag', ({ name, attributes }) => {
    chars_since_tag = 0;
    if (++depth > MAX_DEPTH) refuse('it is nested too deeply');
    handlers.open(localName(name), attributes, parser.line);
  });
  parser.on('closetag', ({ name }) => {
    chars_since_tag = 0;
    depth--;
    handlers.close?.(localName(name));
  });
  if (handlers.text) {
    parser.on('text', handlers.text.bind(handlers));
    parser.on('cdata', handlers.text.bind(handlers));
  }
  parser.on('error', (error) => refuse(error.message));

  let has_begun = false;
  for await (const some of pieces) {
    // Nothing may stand before an XML declaration, and tools put empty lines there.
    const text: string = has_begun ? some : some.trimStart();
    has_begun ||= text !== '';
    for (let at = 0; at < text.length; at += PIECE_CHARS) {
      const piece = text.slice(at, at + PIECE_CHARS);
      chars_since_tag += piece.length;
      parser.write(piece);
      if (chars_since_tag > MAX_CHARS_BETWEEN_TAGS) refuse('it has a text that is too long for a cell');
      yield;
      await breathe();
    }
  }
  parser.close();
}

export function localName(name: string): string {
  const colon = name.indexOf(':');
  return colon === -1 ? name : name.slice(colon + 1);
}

/** An attribute that may have a namespace prefix, such as `r:id`. */
export function attributeOf(attributes: Record<string, string>, name: string): string | undefined {
  if (name in attributes) return attributes[name];
  const found = Object.keys(attributes).find((key) => localName(key) === name);
  return found === undefined ? undefined : attributes[found];
}
