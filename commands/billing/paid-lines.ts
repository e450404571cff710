// What the lines of a paid invoice amount to: the credits that they pay, and what the plan costs a month from then on. Credits follow the
// money: a line that pays half of a price pays half of its credits. No period is computed here: the provider states them.
import type { BillingInterval, PlanName } from '../../events/subscription.ts';
import { DAY_MS } from '../../time/units.ts';
import { creditsOf, MONTHS, PLANS } from './plans.ts';

/** A line of an invoice: a plan for a period, or for the rest of one. */
export interface PaidLine {
  plan: PlanName;
  interval: BillingInterval;
  period_start: string;
  period_end: string;
  /** Whether the line is of a change within a period: it counts by its share of the whole period. */
  is_proration: boolean;
  /** Before discounts; negative for time of a former plan that is given back. */
  amount_cents: number;
  /** The price of one whole period; that of the catalogue when absent. */
  price_cents?: number;
  /** How many of the plan; 1 when absent. */
  quantity?: number;
  /** The whole period that a proration is of, where the provider states it. */
  whole_period?: { start: string; end: string };
}

/**
 * Returns the credits that an invoice pays. A change of the plan pays the share of the new plan, less that of the former one; a change
 * to a smaller plan pays none, nor does the time of a trial, which costs nothing.
 */
export function creditsOfLines(lines: readonly PaidLine[]): number {
  const credits = lines.map((line) => creditsOf(line.plan, line.interval) * periodsOf(line));
  return Math.max(0, Math.round(credits.reduce((sum, each) => sum + each, 0)));
}

const priceOf = ({ plan, interval, price_cents }: PaidLine) => price_cents ?? PLANS[plan].price_cents[interval];
export const quantityOf = ({ quantity = 1 }: PaidLine) => quantity;

/** How many whole periods of its plan a line pays; negative where it gives time back. */
function periodsOf(line: PaidLine): number {
  const { is_proration, amount_cents, whole_period } = line;
  const price_cents = priceOf(line);
  if (amount_cents === 0 && price_cents > 0) return 0;
  if (!is_proration) return amount_cents < 0 ? 0 : quantityOf(line);
  const by_time = whole_period ? lengthOf(line) / lengthOf(periodOf(whole_period)) : shareByPrice(line, price_cents);
  return Math.sign(amount_cents) * quantityOf(line) * Math.max(0, Math.min(1, by_time));
}

const lengthOf = ({ period_start, period_end }: Pick<PaidLine, 'period_start' | 'period_end'>) =>
  Date.parse(period_end) - Date.parse(period_start);
const periodOf = ({ start, end }: NonNullable<PaidLine['whole_period']>) => ({ period_start: start, period_end: end });

/** The days that a month or a year may have. */
const DAYS: Readonly<Record<BillingInterval, readonly number[]>> = { month: [28, 29, 30, 31], year: [365, 366] };

/**
 * The share of a period that the provider has charged. Cents round it: where a period of whole days explains the amount, the share is that
 * of the time, so that a cent does not decide on ten credits.
 */
function shareByPrice(line: PaidLine, price_cents: number): number {
  if (price_cents === 0) return 0;
  const charged = Math.abs(line.amount_cents) / quantityOf(line) / price_cents;
  const shares = DAYS[line.interval].map((days) => lengthOf(line) / (days * DAY_MS));
  const nearest = shares.toSorted((a, b) => Math.abs(a - charged) - Math.abs(b - charged))[0]!;
  return Math.abs(nearest - charged) * price_cents * quantityOf(line) <= 1 ? nearest : charged;
}

/** Returns what a line's plan costs a month, less the invoice's discount. `net_cents`: the invoice's total without taxes. */
export function monthlyCents(line: PaidLine, lines: readonly PaidLine[], net_cents: number): number {
  const listed_cents = lines.reduce((sum, each) => sum + each.amount_cents, 0);
  const paid_share = listed_cents > 0 ? Math.min(1, Math.max(0, net_cents) / listed_cents) : 1;
  const of_a_trial = line.amount_cents === 0 && !line.is_proration;
  return of_a_trial ? 0 : Math.round((priceOf(line) * quantityOf(line) * paid_share) / MONTHS[line.interval]);
}

/** The line that says what the user has from now on: of those that cost something the one that ends last, and then the dearest. */
export function newestLine(lines: readonly PaidLine[]): PaidLine | undefined {
  return lines
    .filter(({ amount_cents }) => amount_cents >= 0)
    .toSorted((a, b) => Date.parse(b.period_end) - Date.parse(a.period_end) || monthlyPrice(b) - monthlyPrice(a))[0];
}

const monthlyPrice = (line: PaidLine) => priceOf(line) / MONTHS[line.interval];
