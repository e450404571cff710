// Parses XML as tools write it, and not as the standard has it: a bare `&` or `<`, control characters, quotes and markup in attributes. A
// document that is cut off, too deep, or has entities of its own is refused. Decision 160 says why.
import { Parser } from 'htmlparser2';
import { breather } from '../time/event-loop.ts';
import { localName, MAX_CHARS_BETWEEN_TAGS, MAX_DEPTH, PIECE_CHARS, type Refuse, type XmlHandlers } from './xml.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: XML has no place for them
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/** As `parseXml` does. */
export async function* parseLooseXml(
  pieces: AsyncIterable<string>,
  handlers: XmlHandlers,
  refuse: Refuse,
): AsyncGenerator<void> {
  const breathe = breather();
  let piece = '';
  let piece_start = 0;
  let counted_to = 0;
  let line = 1;
  let depth = 0;
  let chars_since_tag = 0;
  let is_cut = false;
  let has_ended = false;
  const countLines = (to: number) => {
    for (let at = counted_to - piece_start; at < to - piece_start; at++) if (piece[at] === '\n') line++;
    counted_to = Math.max(counted_to, to);
  };
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        chars_since_tag = 0;
        if (++depth > MAX_DEPTH) refuse('it is nested too deeply');
        countLines(parser.endIndex);
        handlers.open(localName(name), attributes, line);
      },
      onclosetag(name, is_implied) {
        chars_since_tag = 0;
        depth--;
        is_cut ||= has_ended && is_implied;
        handlers.close?.(localName(name));
      },
      ontext: (text) => handlers.text?.(text),
      onprocessinginstruction(_name, data) {
        // The parser ends a declaration at its first `>`, so that one inside of a DOCTYPE may come alone.
        if (data.includes('<!ENTITY') || data.startsWith('!ENTITY')) refuse('it has entities of its own');
      },
    },
    { xmlMode: true },
  );
  for await (const some of pieces) {
    for (let at = 0; at < some.length; at += PIECE_CHARS) {
      countLines(piece_start + piece.length);
      piece_start += piece.length;
      piece = some.slice(at, at + PIECE_CHARS).replace(CONTROL, ' ');
      chars_since_tag += piece.length;
      parser.write(piece);
      if (chars_since_tag > MAX_CHARS_BETWEEN_TAGS) refuse('it has a text that is too long for a cell');
      yield;
      await breathe();
    }
  }
  has_ended = true;
  parser.end();
  if (is_cut) refuse('it ends too early');
}
