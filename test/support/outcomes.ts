// Outcomes of checks as fast-check draws them: any values of the fields, also such as no check gives together.
import fc from 'fast-check';
import { ERROR_CODES, type Outcome, VERDICTS } from '../../events/checks.ts';
import { FOUND } from './behind.ts';

export const aUrl = fc.constantFrom('https://a.example/', 'https://a.example/1', 'https://b.example/?q=ü', '');
export const anOutcome: fc.Arbitrary<Outcome> = fc.record(
  {
    status_code: fc.option(fc.constantFrom(200, 301, 404)),
    final_url: fc.option(aUrl),
    is_broken: fc.boolean(),
    is_soft_404: fc.boolean(),
    redirect_chain: fc.array(aUrl, { maxLength: 2 }),
    response_time_ms: fc.option(fc.nat(20)),
    content_type: fc.option(fc.constantFrom('text/html', '')),
    error_code: fc.option(fc.constantFrom(...ERROR_CODES)),
    verdict: fc.constantFrom(...VERDICTS),
    protection: fc.option(fc.constantFrom('shield', '')),
    attempts: fc.integer({ min: 1, max: 3 }),
    meta_refresh: aUrl,
    proxy_id: fc.constantFrom('p1', 'p2'),
    earlier_attempts: fc.array(
      fc.record({
        status_code: fc.option(fc.constantFrom(429, 503)),
        error_code: fc.option(fc.constantFrom(...ERROR_CODES)),
        response_time_ms: fc.option(fc.nat(20)),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  },
  { requiredKeys: Object.keys(FOUND) as (keyof Outcome)[] as never },
) as never;
