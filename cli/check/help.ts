// What `check --help` prints.
import { VERDICT_MEANINGS, VERDICTS } from '../../events/checks.ts';
import { listOfFormats } from '../../intake/formats.ts';
import { DEAD, VERDICT_CHARS } from './verdict-sets.ts';

export const USAGE = 'usage: npm run check -- [OPTIONS] INPUT...    (--help explains them)';

/** The words in lines of at most 100 columns, those behind the first one with an indent. */
function wrapped(text: string, indent: number): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    if (lines.at(-1)!.length + word.length + 1 > 99 - indent) lines.push('');
    lines.push(`${lines.pop()!} ${word}`.trim());
  }
  return lines.join(`\n${' '.repeat(indent)}`);
}

export const HELP = `usage: npm run check -- [OPTIONS] INPUT...

Checks each URL of the inputs once, and reports which are dead. An INPUT is
  a URL     http://... or https://...
  a file    ${wrapped(listOfFormats(), 12)}
  a folder  the documents and tables in it and below it; JSON, XML and gzip files have to be named
  a glob    'docs/**/*.md', in quotes where the shell does not expand it
  -         standard input, in one of the formats of text

What is read
  --column NAME|LETTER  the column of a table; default: all columns with URLs
  --exclude PATTERN     leaves out files and folders by a glob, or URLs that begin like https://...;
                        may be given several times

What is printed
  --only VERDICTS       lists the results of these verdicts alone, in every format
  --format FORMAT       what is printed: text, json, csv, junit, github, sarif, markdown or html;
                        default: text
  --json                the same as --format json
  -o, --out FILE        also writes FILE: CSV, XLSX, JSON, JUnit XML, SARIF, Markdown, HTML or
                        text, by its ending (.csv .xlsx .json .xml .sarif .md .html .txt);
                        may be given several times
  -q, --quiet           prints only errors, what was not read, and what --format asks for
  --no-progress         shows no progress on standard error

How URLs are checked; the settings CHECKER_* of the environment are the defaults
  --concurrency N       the most URLs in flight; default: as many as this machine allows
  --per-host N          the most URLs in flight to one host; default: 10
  --timeout SECONDS     the longest time of one attempt; default: 15
  --retries N           how often a failed URL is tried again; default: 2
  --user-agent TEXT     the User-Agent of the requests
  --allow-address CIDR  a private address or range that may be requested; may be given several times

After Ctrl-C
  --resume              continues the interrupted check of the same input; without an INPUT, the
                        check that was interrupted last
  --keep                keeps the results of a finished check: --resume prints them again

Between checks
  --cache               does not request a URL again that an earlier check with --cache found fine;
                        a verdict that would fail the check, or may pass, is always looked at again
  --max-age AGE         the age up to which such a result counts, such as 90m, 12h or 7d; default: 1d

Verdicts
${VERDICTS.map((verdict) => `  ${verdict.padEnd(VERDICT_CHARS)} ${VERDICT_MEANINGS[verdict]}`).join('\n')}
  As VERDICTS, dead stands for ${DEAD.join(', ')}

Exit codes
  0    no URL is dead
  1    a URL is dead. --fail-on VERDICTS decides which verdicts count: default dead;
       none: no verdict
  2    the command line or an input is wrong, or the check could not run
  130  interrupted by Ctrl-C, once the results so far are written; 143: by SIGTERM
`;
