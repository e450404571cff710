// How many decimals an amount of money has in units of its currency: as the payment provider counts it, which differs from what a browser knows.
// The console imports nothing of the service; a test holds both lists to each other.
const DECIMALS: Readonly<Record<string, number>> = Object.fromEntries([
  ...'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ').map((code) => [code, 0]),
  ...'bhd jod kwd omr tnd'.split(' ').map((code) => [code, 3]),
]);

/** @example decimalsOf('jpy') // 0 */
export const decimalsOf = (currency: string): number => DECIMALS[currency.toLowerCase()] ?? 2;
