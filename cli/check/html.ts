// The report as one page of HTML: no script, nothing loaded, and readable on paper.
import { VERDICT_MEANINGS, VERDICTS } from '../../events/checks.ts';
import { count, duration } from '../progress.ts';
import { type Checked, type CheckedUrl, countOf, isInterrupted, placeOf } from './checked.ts';
import { escaped } from './markup.ts';
import { reasonOf, SECTIONS } from './text.ts';
import { SHOWN } from './verdict-sets.ts';

/** The page shows URLs of others: it may load nothing and run nothing. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 0.5rem 0 2rem; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 1rem 0.3rem 0; border-bottom: 1px solid #8886; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
td.url { overflow-wrap: anywhere; }
${VERDICTS.map((verdict) => `.${verdict} { color: ${SHOWN[verdict].color}; }`).join(' ')}
@media print { body { margin: 0; max-width: none; font-size: 10pt; } a { color: inherit; text-decoration: none; } tr { break-inside: avoid; } thead { display: table-header-group; } }
`;

export function* htmlOf(checked: Checked): Generator<string> {
  const { counts, only, seconds, began_at } = checked;
  const state = isInterrupted(checked) ? ' The check was interrupted.' : '';
  yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n';
  yield `<meta http-equiv="Content-Security-Policy" content="${escaped(POLICY)}">\n<meta name="referrer" content="no-referrer">\n`;
  yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n';
  yield `<title>URLs checked</title>\n<style>${STYLE}</style>\n</head>\n<body>\n<h1>URLs checked</h1>\n`;
  yield `<p>${count(counts.completed_urls)} of ${count(counts.total_urls)} URLs, in ${duration(seconds)}, `;
  yield `begun at ${began_at.toISOString().slice(0, 16).replace('T', ' ')} UTC.${state}</p>\n<table>\n`;
  for (const verdict of VERDICTS) {
    const n = countOf(checked, [verdict]);
    if (n > 0)
      yield `<tr><td class="${verdict}">${verdict}</td><td class="n">${count(n)}</td><td>${VERDICT_MEANINGS[verdict]}</td></tr>\n`;
  }
  yield '</table>\n';
  for (const { title, verdicts } of SECTIONS) {
    // Without --only the page leaves out the URLs that are as they should be.
    const wanted = verdicts.filter((one) => (only === null ? one !== 'ok' : only.includes(one)));
    if (countOf(checked, wanted) === 0) continue;
    yield `<h2>${title}</h2>\n<table>\n<thead><tr><th>URL</th><th>Why</th><th>Where</th></tr></thead>\n<tbody>\n`;
    for (const result of checked.results(wanted)) yield rowOf(result);
    yield '</tbody>\n</table>\n';
  }
  yield '</body>\n</html>\n';
}

function rowOf(result: CheckedUrl): string {
  const url = `<bdi>${escaped(result.url)}</bdi>`;
  const is_link = /^https?:\/\//i.test(result.url);
  const link = is_link ? `<a href="${escaped(result.url)}" rel="noopener noreferrer nofollow">${url}</a>` : url;
  const why = `<td class="url ${result.verdict}"><bdi>${escaped(reasonOf(result))}</bdi></td>`;
  return `<tr><td class="url">${link}</td>${why}<td class="url"><bdi>${escaped(placeOf(result) ?? '')}</bdi></td></tr>\n`;
}
