// Amounts of money: integers in the smallest unit that the payment provider counts in, which is not always the one of ISO 4217.

/** Currencies whose amounts are whole units. ISK and UGX, which have no smaller coins either, are counted in hundredths all the same. */
const WHOLE = 'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ');
const THOUSANDTHS = 'bhd jod kwd omr tnd'.split(' ');

/**
 * The decimals of an amount in units of its currency.
 * @example ['usd', 'JPY', 'kwd', 'isk', 'huf'].map(decimalsOf) // [2, 0, 3, 2, 2]
 */
export function decimalsOf(currency: string): number {
  const code = currency.toLowerCase();
  if (WHOLE.includes(code)) return 0;
  return THOUSANDTHS.includes(code) ? 3 : 2;
}

/**
 * An amount in units of its currency, for people.
 * @example [inUnits(1_900, 'usd'), inUnits(500, 'jpy'), inUnits(500, 'isk')] // ['19.00', '500', '5.00']
 */
export function inUnits(amount: number, currency: string): string {
  const decimals = decimalsOf(currency);
  return (amount / 10 ** decimals).toFixed(decimals);
}

/** @example priceOf(2900, 'usd') // '29.00 USD' */
export const priceOf = (amount: number, currency: string) => `${inUnits(amount, currency)} ${currency.toUpperCase()}`;
