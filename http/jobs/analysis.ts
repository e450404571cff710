// Analysis before a job: which domains are on the blocklist, and what a job of a file would check and cost.
import { textOf } from '../../commands/jobs/intake.ts';
import { Nullable, type Static, Type } from '../../events/schema.ts';
import { INVALID_REASONS } from '../../intake/classify-url.ts';
import { analyzeUrls, type IntakeSummary } from '../../intake/collect-urls.ts';
import { type ParsedDomain, parseDomain } from '../../intake/domain.ts';
import { IntakeError } from '../../intake/errors.ts';
import { limitsOf } from '../../intake/limits.ts';
import { openSheet } from '../../intake/open-sheet.ts';
import { readingOf, type Sheet } from '../../intake/sheet.ts';
import { balanceOf, balances } from '../../readmodels/billing/credits.ts';
import { breather } from '../../time/event-loop.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { Block, blockExample } from '../domains/domain-view.ts';
import { type Problem, ValidationError } from '../frame/errors.ts';
import { fileBody, listBody } from '../frame/request-bodies.ts';
import { routeOf } from '../frame/route.ts';
import { Count } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { columnOption, encodingOption, LIST_FILE, readingExample, readingFields, sheetOption } from './list-reading.ts';
import { unusable } from './submit.ts';

const wire = ({ config, blocklist, checker_guard, read }: Parts) => ({
  rules: { ...limitsOf(config), allows_address: checker_guard.allows },
  blocklist,
  read: read({ balances }),
});
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'analysis');

const MAX_DOMAINS = 1000;
const MAX_DOMAIN_CHARS = 2048;
const MAX_PROBLEMS = 50;
/** Enough for MAX_DOMAINS domains of MAX_DOMAIN_CHARS characters, each written as a JSON escape. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;

const checkDomains = route({
  id: 'checkDomains',
  method: 'POST',
  path: '/check-domains',
  access: 'user',
  heavy: true,
  summary: 'Check domains against the blocklist',
  description:
    'You may write a domain in any case or script, with a port, or as a URL. It is blocked when the list has it or a domain above it.',
  body: listBody('domains', {
    limit_bytes: MAX_BODY_BYTES,
    max_items: MAX_DOMAINS,
    max_chars: MAX_DOMAIN_CHARS,
    example: { domains: ['example.com', 'https://Shop.Example.org:8080/cart'] },
  }),
  responses: {
    200: {
      description: 'The blocklisted domains, in the order of the request.',
      schema: Type.Object({
        blocked: Type.Array(
          Type.Object({
            ...Block.properties,
            domain: Type.String({ description: 'The domain as the request has it.' }),
          }),
        ),
        total_checked: Type.Integer({ minimum: 1 }),
      }),
      example: { blocked: [blockExample], total_checked: 2 },
    },
  },
  async handler({ body: list }, { blocklist }) {
    const domains = (await Array.fromAsync(list.pages())).flat().map(textOf);
    const parsed: ParsedDomain[] = [];
    const breathe = breather();
    for (const domain of domains) {
      parsed.push(parseDomain(domain));
      await breathe();
    }
    const problems = parsed.flatMap((one, i) => ('reason' in one ? [problemOf(one.reason, ['domains', i])] : []));
    if (problems.length > 0) throw new ValidationError(problems.slice(0, MAX_PROBLEMS));
    const { entryOf } = await blocklist.current();
    const blocked: (Static<typeof Block> & { domain: string })[] = [];
    for (const [i, one] of parsed.entries()) {
      await breathe();
      const entry = 'domain' in one ? entryOf(one.domain) : null;
      if (!entry) continue;
      const { reason, block_type, error_codes } = entry;
      blocked.push({ domain: domains[i]!, reason, block_type, error_codes });
    }
    return { body: { blocked, total_checked: domains.length } };
  },
});

function problemOf(reason: keyof typeof INVALID_REASONS, at: (string | number)[]): Problem {
  return { loc: ['body', ...at], msg: INVALID_REASONS[reason], type: reason };
}

const SampleView = Type.Object(
  {
    row: Type.Integer({ minimum: 1, description: 'The number of the row, as a spreadsheet counts.' }),
    value: Type.String({ description: 'The cell, shortened when it is too long for a URL.' }),
    url: Nullable(Type.String({ description: 'The URL that a job would check; null when the cell holds none.' })),
    reason: Nullable(Type.Enum([...Object.keys(INVALID_REASONS), 'blocked_domain'])),
    blocked_domain: Nullable(Type.String({ description: 'The entry of the blocklist that blocks the URL.' })),
  },
  { $id: 'AnalyzedRow' },
);
const Category = (description: string) =>
  Type.Object(
    { count: Count('Rows.'), samples: Type.Array(SampleView, { description: 'The first rows.' }) },
    { description },
  );

const AnalysisView = Type.Object({
  ...readingFields,
  encoding: Type.String(),
  delimiter: Nullable(Type.String({ description: 'Null when each line is one cell, and for other formats.' })),
  total_rows: Count('Texts without the header: one for each row, more for a cell with several URLs.'),
  unique_urls: Count('URLs that a job of the file would check.'),
  duplicates: Count('Rows that repeat the URL of an earlier row.'),
  valid: Category('Rows that a job would check.'),
  missing_prefix: Category('Rows that a job would check with https:// before them.'),
  blocked: Category('Rows that a job would leave out because their domain is on the blocklist.'),
  invalid: Category('Rows that a job would leave out because they hold no valid URL.'),
  cost: Count('Credits that a job of the file would reserve, one for each unique URL.'),
  credit_balance: Count('Your remaining credits.'),
  affordable: Type.Boolean({ description: 'Whether the balance covers the cost.' }),
});

const none = { count: 0, samples: [] };
const analysisExample = {
  ...readingExample,
  ...{ encoding: 'utf-8', delimiter: ',' },
  ...{ total_rows: 421, unique_urls: 419, duplicates: 1 },
  valid: {
    count: 420,
    samples: [
      { row: 2, value: 'https://example.com/', url: 'https://example.com/', reason: null, blocked_domain: null },
    ],
  },
  missing_prefix: none,
  blocked: none,
  invalid: {
    count: 1,
    samples: [{ row: 17, value: 'see below', url: null, reason: 'several_words', blocked_domain: null }],
  },
  ...{ cost: 419, credit_balance: 300, affordable: false },
};

const analyzeFile = route({
  id: 'analyzeFile',
  method: 'POST',
  path: '/analyze-csv',
  access: 'user',
  heavy: true,
  summary: 'Show what a job of a CSV or XLSX file would check and cost',
  description:
    'Sorts each row into one category, as `POST /jobs` would with its defaults. It creates no job, charges nothing, and discards the file.',
  query: Type.Object({ column: columnOption, sheet: sheetOption, encoding: encodingOption }),
  body: fileBody(LIST_FILE),
  responses: { 200: { description: 'The analysis.', schema: AnalysisView, example: analysisExample } },
  errors: {
    413: 'The file is too large, or holds too many URLs.',
    415: 'The file is not a table.',
    422: 'The file is empty or damaged, or has no column with URLs.',
  },
  async handler({ body: file, query, caller, signal }, { rules, blocklist, read }) {
    const { blocked_domain_of } = await blocklist.current();
    const [sheet, summary] = await analyze().catch((error: unknown) => {
      throw error instanceof IntakeError ? unusable(error, 'file') : error;
    });
    const balance = await balanceOf(read.balances, caller.user_id);
    return { body: analysisView(sheet, summary, balance) };

    async function analyze() {
      const sheet = await openSheet(file.path, file.filename ?? 'upload', rules, query);
      return [sheet, await analyzeUrls(sheet.cells(), { ...rules, blocked_domain_of, signal })] as const;
    }
  },
});

function analysisView(sheet: Sheet, summary: IntakeSummary, credit_balance: number) {
  const { encoding, delimiter } = sheet;
  const { total_rows, accepted: unique_urls, duplicates_removed: duplicates, categories, samples } = summary;
  const category = (name: keyof typeof categories) => ({ count: categories[name], samples: samples[name] });
  return {
    ...readingOf(sheet),
    ...{ encoding, delimiter },
    ...{ total_rows, unique_urls, duplicates },
    valid: category('valid'),
    missing_prefix: category('missing_prefix'),
    blocked: category('blocked'),
    invalid: category('invalid'),
    ...{ cost: unique_urls, credit_balance, affordable: unique_urls <= credit_balance },
  };
}

export const group = groupOf(wire, [checkDomains, analyzeFile]);
