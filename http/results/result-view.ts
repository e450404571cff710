// The view of a result and the filters of results, in both APIs.

import { ERROR_CODES, Outcome, VERDICTS } from '../../events/checks.ts';
import { FINDINGS, findingsOf, REDIRECT_KINDS } from '../../events/findings.ts';
import { inWords, Nullable, type Static, Type } from '../../events/schema.ts';
import { LongPage, type ResultsPage } from '../../readmodels/results/result-pages.ts';
import { type ResultDocument, type ResultsFilter, STATUS_GROUPS } from '../../readmodels/results/results.ts';
import { type OfList, placesOf } from './result-place.ts';

export const ResultView = Type.Object(
  {
    url: Type.String({ description: 'The URL as its owner submitted it.' }),
    row: Nullable(
      Type.Integer({
        minimum: 1,
        description:
          'Where the URL stands: the row of a table as a spreadsheet shows it, the line of a text, the item of a list, from 1. Null in ' +
          'jobs of before the service kept rows.',
      }),
    ),
    ref: Type.Optional(
      Type.String({ description: 'Your own name for the URL, as you submitted it; absent without one.' }),
    ),
    cell: Nullable(Type.String({ description: 'The cell of a table, such as `B17`; null for other lists.' })),
    ...Outcome.properties,
    ...FINDINGS,
    error_code: Nullable(
      Type.Enum(ERROR_CODES, { $id: 'CheckErrorCode', description: 'Why no answer came, or none that counts.' }),
    ),
    verdict: { ...Outcome.properties.verdict, $id: 'Verdict' },
  },
  { $id: 'UrlResult' },
);
export type ResultView = Static<typeof ResultView>;

export const resultExample: ResultView = {
  url: 'https://example.com/old',
  row: 17,
  cell: 'B17',
  status_code: 404,
  final_url: 'https://example.com/gone',
  is_broken: true,
  is_soft_404: false,
  redirect_chain: ['https://example.com/gone'],
  response_time_ms: 87,
  content_type: 'text/html; charset=utf-8',
  error_code: null,
  verdict: 'broken',
  protection: null,
  attempts: 1,
  temporary: false,
  redirects: [{ url: 'https://example.com/gone', status_code: 301 }],
  redirect_kind: 'permanent',
  redirect_changes: 'address',
};

export function resultViewsOf(job: OfList): (result: ResultDocument) => ResultView {
  const placeOf = placesOf(job);
  return (result) => {
    const {
      _id,
      job_id: _job,
      index: _index,
      row_shift: _shift,
      redirect_statuses: _statuses,
      url,
      ref,
      ...found
    } = result;
    return { url, ...(ref !== undefined && { ref }), ...placeOf(result), ...found, ...findingsOf(result, url) };
  };
}

/** The views of a page. A `LongPage` yields each view when the reply writes it. */
export function resultViews(
  job: OfList,
  items: ResultsPage['items'],
): readonly ResultView[] | AsyncIterable<ResultView> {
  const resultView = resultViewsOf(job);
  if (!(items instanceof LongPage)) return items.map(resultView);
  return {
    async *[Symbol.asyncIterator]() {
      for await (const result of items) yield resultView(result);
    },
  };
}

export const MAX_PAGE = 1000;
/** Whoever reads a million results reads them by a hundred requests. */
export const MAX_RESULTS_PAGE = 10_000;
/**
 * The query parameters `limit` and `offset`, for pages of `limit` items by default.
 * @example query: Type.Object({ ...paging(50), ...resultFilters })
 */
export const paging = (limit: number, maximum = MAX_PAGE) => ({
  limit: Type.Integer({ minimum: 1, maximum, default: limit, description: 'The most items in the page.' }),
  offset: Type.Integer({
    minimum: 0,
    maximum: 1_000_000_000,
    default: 0,
    description: 'Items before the page. What comes or goes meanwhile shifts the pages.',
  }),
});

/** The query parameters of a list whose clients may also count in pages, from 1. */
export const pagingByPage = (limit: number) => ({
  ...paging(limit),
  page: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 1,
    description: 'The page, from 1. From 2 on it counts instead of `offset`.',
  }),
});
export const pageSize = (usual: number) =>
  Type.Integer({
    minimum: 1,
    maximum: MAX_PAGE,
    default: usual,
    description: `The same as \`limit\`. Another one than ${usual} counts instead of it.`,
  });

/** Where the page is, in both ways of counting. `usual_size`: the default of `page_size`, where a list has it. */
export function placeOf(
  query: { limit: number; offset: number; page: number; page_size?: number },
  usual_size?: number,
) {
  const { page_size = usual_size } = query;
  const limit = page_size === usual_size ? query.limit : page_size!;
  const offset = query.page === 1 ? query.offset : (query.page - 1) * limit;
  return { limit, offset, page: Math.floor(offset / limit) + 1, page_size: limit };
}

const status_codes = Type.Optional(
  Type.String({
    pattern: inWords(
      '^[1-9][0-9]{2}( *, *[1-9][0-9]{2})*$',
      'must be status codes with commas between, such as 404,410',
    ),
    description: 'Status codes, separated by commas.',
    examples: ['404,410'],
  }),
);
const url_contains = Type.Optional(
  Type.String({ minLength: 1, maxLength: 500, description: 'A part of the URL, in any case.', examples: ['/shop/'] }),
);
export const NON_2XX = { description: 'Only results without a 2xx, including URLs that gave no answer.' };

export const SHORT_PAGE = 100;
/** Whether a page is found by an index and serialised within milliseconds, so that nothing is gained when a client that leaves ends it. */
export const isShortPage = ({ limit, url_contains, redirect_kind, temporary, verdict }: ShortPage): boolean =>
  limit <= SHORT_PAGE &&
  !url_contains &&
  redirect_kind === undefined &&
  temporary === undefined &&
  verdict === undefined;
interface ShortPage {
  limit: number;
  url_contains?: string;
  redirect_kind?: string;
  temporary?: boolean;
  verdict?: string;
}

const redirect_kind = Type.Optional(
  Type.Enum([...REDIRECT_KINDS, 'any'], {
    type: 'string',
    description: 'Only results with redirects of this kind, or with `any` redirects: links to them may be mended.',
  }),
);
const temporary = Type.Optional(
  Type.Boolean({ description: 'Only failures that may pass, or with `false` all other results: what stays broken.' }),
);

const verdict = Type.Optional(
  Type.Enum(VERDICTS, { type: 'string', $id: 'Verdict', description: 'Only results with this verdict.' }),
);

/** The query parameters that filter results. */
export const resultFilters = {
  status_codes,
  non_2xx: Type.Boolean({ default: false, ...NON_2XX }),
  url_contains,
  redirect_kind,
  temporary,
  verdict,
};
export const statusGroup = Type.Optional(
  Type.Enum(STATUS_GROUPS, {
    type: 'string',
    $id: 'StatusGroup',
    description: 'A class of status codes such as `4xx`, or `broken`, or `unreachable` (no answer).',
  }),
);

export function filterOf(query: {
  status_codes?: string;
  non_2xx?: boolean;
  url_contains?: string;
  status_group?: string;
  redirect_kind?: ResultsFilter['redirect_kind'];
  temporary?: boolean;
  verdict?: ResultsFilter['verdict'];
}): ResultsFilter {
  return {
    status_codes: query.status_codes ? query.status_codes.split(',').map(Number) : undefined,
    // A false `non_2xx` filters nothing, so it is left out: equal filters must have equal cursors.
    non_2xx: query.non_2xx || undefined,
    url_contains: query.url_contains || undefined,
    status_group: query.status_group as ResultsFilter['status_group'],
    redirect_kind: query.redirect_kind,
    temporary: query.temporary,
    verdict: query.verdict,
  };
}
