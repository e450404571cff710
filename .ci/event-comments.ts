// The comments in the source of the events' schemas, which Biome has formatted: a comment is on the lines just above what it is about.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Comments {
  file: string;
  /** The comment at the start of the file. */
  header: string;
  /** The comment on an event type or on a field of it, by its path; empty for none. */
  of(type: string, path?: string): string;
}

const files = new Map<string, string[]>();

/** The comments of the file that defines the event type. */
export function commentsOf(folder: string, type: string): Comments {
  if (files.size === 0) {
    for (const name of readdirSync(folder)) files.set(name, readFileSync(join(folder, name), 'utf8').split('\n'));
  }
  const found = [...files].find(([, lines]) => lines.some((line) => isOf(type, line)));
  if (!found) throw new Error(`no file of ${folder} defines ${type} as "  ${type}: event("`);
  const [file, lines] = found;
  const end = lines.findIndex((line) => !line.startsWith('//'));
  const header = lines
    .slice(0, end)
    .map((line) => line.slice(3))
    .join(' ');
  return {
    file,
    header,
    of(of_type, path) {
      const start = lines.findIndex((line) => isOf(of_type, line));
      if (path === undefined) return above(lines, start);
      const name = path.split('.').at(-1)!.replace('[]', '');
      const closing = lines.findIndex(
        (line, n) => (n >= start && /^ {2}\S*\)/.test(line)) || (n === start && line.endsWith('),')),
      );
      const inside = lines.findIndex((line, n) => n > start && n < closing && isField(name, line));
      if (inside !== -1) return above(lines, inside);
      // A field that several types share is defined outside of them. Of two that have the name, nobody knows which it is.
      const shared = lines.flatMap((line, n) => (isField(name, line) && !isInEvent(lines, n) ? [above(lines, n)] : []));
      const comments = new Set(shared.filter((comment) => comment !== ''));
      return comments.size === 1 ? [...comments][0]! : '';
    },
  };
}

const isOf = (type: string, line: string) => line.startsWith(`  ${type}: event(`);
const isField = (name: string, line: string) => line.trimStart().startsWith(`${name}: `);

/** Whether a line is inside the definition of an event. */
function isInEvent(lines: readonly string[], at: number): boolean {
  const start = lines.findLastIndex((line, n) => n <= at && /^ {2}\w+: event\(/.test(line));
  return start !== -1 && !lines.slice(start, at).some((line) => line.startsWith('}') || line.startsWith('  }'));
}

function above(lines: readonly string[], at: number): string {
  const comment: string[] = [];
  for (let n = at - 1; n >= 0; n--) {
    const line = lines[n]!.trim();
    if (!(line.startsWith('/**') || line.startsWith('*')) || (comment.length > 0 && line.endsWith('*/'))) break;
    comment.unshift(
      line
        .replace(/^(\/\*\*|\*\/|\*)/, '')
        .replace(/\*\/$/, '')
        .trim(),
    );
    if (line.startsWith('/**')) return comment.filter((part) => part !== '').join(' ');
  }
  return '';
}
