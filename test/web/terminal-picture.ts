// `node test/web/terminal-picture.ts`: remakes docs/console/terminal.svg from what a check of the sample website prints.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { openSampleSiteAt, SAMPLE_ADDRESS, SAMPLE_PORT } from '../../cli/sample-site.ts';

const ROOT = join(import.meta.dirname, '../..');
const COMMAND = 'npm run -s check -- --allow-address 127.0.0.1 examples/urls.csv';
const [WIDTH, LINE, CHAR, MARGIN] = [760, 19, 8.43, 20];

/** The select graphic renditions that the terminal's report uses. */
const STYLES: Readonly<Record<string, string>> = {
  '1': 'font-weight="bold"',
  '2': 'opacity="0.65"',
  '31': 'fill="#ff7b72"',
  '32': 'fill="#7ee787"',
  '33': 'fill="#e3b341"',
  '35': 'fill="#d2a8ff"',
  '36': 'fill="#76e3ea"',
};
const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[([\\d;]*)m`);
const ENDS = ['0', '22', '39'];

const site = await openSampleSiteAt(SAMPLE_PORT);
if (site === null) throw new Error(`port ${SAMPLE_PORT} is in use`);
try {
  const check = spawn(
    process.execPath,
    ['--import', './boot.js', 'cli/check.ts', '--no-progress', '--allow-address', SAMPLE_ADDRESS, 'examples/urls.csv'],
    { cwd: ROOT, env: { ...process.env, FORCE_COLOR: '1' }, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [printed] = await Promise.all([text(check.stdout), once(check, 'close')]);
  await writeFile(join(ROOT, 'docs/console/terminal.svg'), pictureOf(`$ ${COMMAND}\n${printed.trimEnd()}`));
} finally {
  await site.close();
}

function pictureOf(screen: string): string {
  const lines = screen.split('\n');
  const height = MARGIN * 2 + lines.length * LINE;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    '<title>A check in the terminal</title>',
    `<rect width="${WIDTH}" height="${height}" rx="8" fill="#0d1117"/>`,
    '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" fill="#e6edf3" style="white-space: pre">',
    ...lines.map((line, n) => `<text x="${MARGIN}" y="${MARGIN + 14 + n * LINE}">${spansOf(line)}</text>`),
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

/** A line with its escape sequences as tspans, each at the column where a terminal shows it. */
function spansOf(line: string): string {
  let style = '';
  let column = 0;
  return line
    .split(ESCAPES)
    .map((piece, n) => {
      if (n % 2 === 1) {
        style = ENDS.includes(piece) ? '' : (STYLES[piece] ?? style);
        return '';
      }
      const x = MARGIN + column * CHAR;
      column += piece.length;
      return piece === '' ? '' : `<tspan x="${x.toFixed(1)}" ${style}>${escaped(piece)}</tspan>`;
    })
    .join('');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
