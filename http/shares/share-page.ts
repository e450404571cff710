// The page of a shared job, for people without an account: HTML without scripts, which loads the console's style alone. Its filters are a
// form, so that it works, prints and is read wherever HTML is.
import { VERDICT_MEANINGS, VERDICTS } from '../../events/checks.ts';
import { escaped } from '../frame/answers/html.ts';
import type { JobView } from '../jobs/job-view.ts';
import type { ResultView } from '../results/result-view.ts';

export const SHARE_POLICY =
  "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** The most results of one page. */
export const MOST_SHOWN = 100;

export interface SharedView {
  job: Pick<JobView, 'status' | 'total_urls' | 'completed_urls' | 'created_at' | 'completed_at'>;
  verdicts: Readonly<Record<string, number>>;
  items: readonly ResultView[];
  /** Results that pass the filters. */
  total: number;
  offset: number;
  filter: { url_contains?: string; status_codes?: string; non_2xx?: boolean };
}

const grouped = (value: number) => value.toLocaleString('en');
const time = (at: string) => `<time datetime="${at}">${at.slice(0, 16).replace('T', ' ')} UTC</time>`;

export function sharePage(style: string, view: SharedView): string {
  const { job, verdicts } = view;
  const found = VERDICTS.filter((verdict) => verdicts[verdict]).map(
    (
      verdict,
    ) => `<tr class="is-${verdict}"><th scope="row"><span class="badge">${verdict.replaceAll('_', ' ')}</span></th>
<td class="number">${grouped(verdicts[verdict]!)}</td>
<td><progress value="${verdicts[verdict]}" max="${job.completed_urls}" aria-label="${verdict}"></progress></td>
<td>${VERDICT_MEANINGS[verdict]}</td></tr>`,
  );
  const ended = job.completed_at === null ? escaped(job.status) : `ended ${time(job.completed_at)}`;
  return layout(
    style,
    'Results of a URL check',
    `<header class="title"><h1>Results of a URL check</h1><small>begun ${time(job.created_at)}, ${ended}</small></header>
<section class="card"><p class="facts"><span><b>${grouped(job.completed_urls)}</b> of ${grouped(job.total_urls)} URLs checked</span></p>
<table><caption>URLs by verdict</caption><tbody>${found.join('\n')}</tbody></table></section>
${filters(view)}
${view.total === 0 ? '<section class="empty"><h2>No result passes these filters</h2></section>' : results(view)}`,
  );
}

export const noSharePage = (style: string) =>
  layout(
    style,
    'There is no such page',
    '<section class="empty"><h1>This link shows nothing any more</h1><p>It was revoked, it has expired, or it is not whole. Ask whoever sent it for a new one.</p></section>',
  );

export const expiredSharePage = (style: string) =>
  layout(
    style,
    'The results are no longer there',
    '<section class="empty"><h1>These results are no longer there</h1><p>The service keeps results for a limited time, and these are older. Ask whoever sent the link to check the list again.</p></section>',
  );

const layout = (style: string, title: string, body: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${escaped(style)}">
</head>
<body><main>
${body}
</main></body>
</html>
`;

function filters({ filter }: SharedView): string {
  const value = (text = '') => ` value="${escaped(text)}"`;
  return `<form class="fields" method="get">
<div class="field"><label for="url">URL contains</label><input id="url" type="search" name="url_contains" maxlength="500"${value(filter.url_contains)}></div>
<div class="field"><label for="codes">Status codes</label><input id="codes" name="status_codes" placeholder="404,410" pattern="[1-9][0-9]{2}( *, *[1-9][0-9]{2})*" title="Codes of three digits, with commas between them"${value(filter.status_codes)}></div>
<label class="check"><input type="checkbox" name="non_2xx" value="true"${filter.non_2xx ? ' checked' : ''}> without 2xx only</label>
<button type="submit">Show</button>
</form>`;
}

function results({ items, total, offset, filter }: SharedView): string {
  const rows = items.map(
    ({ row, url, verdict, status_code, error_code, redirect_chain }) => `<tr><td class="number">${row ?? ''}</td>
<td>${link(url)}${redirect_chain.length > 0 ? `<br><small>→ ${link(redirect_chain.at(-1)!)}</small>` : ''}</td>
<td><span class="badge is-${verdict}">${verdict.replaceAll('_', ' ')}</span></td><td>${status_code ?? escaped(error_code ?? '')}</td></tr>`,
  );
  const at = (start: number) => {
    const query = new URLSearchParams({ offset: String(start) });
    for (const [name, value] of Object.entries(filter)) if (value) query.set(name, String(value));
    return escaped(`?${query}`);
  };
  const end = offset + items.length;
  const shown = items.length === 0 ? 'None' : `${grouped(offset + 1)}–${grouped(end)}`;
  return `<section class="table"><table><caption>Results</caption>
<thead><tr><th scope="col" class="number">Row</th><th scope="col">URL</th><th scope="col">Verdict</th><th scope="col">Code</th></tr></thead>
<tbody>${rows.join('\n')}</tbody></table></section>
<nav class="pager" aria-label="Pages"><span>${shown} of ${grouped(total)}</span>
${offset > 0 ? `<a href="${at(Math.max(0, offset - MOST_SHOWN))}">Previous</a>` : ''}
${end < total ? `<a href="${at(end)}">Next</a>` : ''}</nav>`;
}

/** A link only for the schemes that lead to a page, and one that tells that page nothing of this one. */
function link(url: string): string {
  const text = `<bdi>${escaped(url)}</bdi>`;
  if (!/^https?:\/\//i.test(url)) return text;
  return `<a href="${escaped(url)}" rel="noopener noreferrer nofollow">${text}</a>`;
}
