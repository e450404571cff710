// Amounts of money are in the provider's units, in the service and in the console.
import test from 'ava';
import { decimalsOf, inUnits } from '../../events/money.ts';
import { decimalsOf as inConsole } from '../../web/ui/currencies.ts';

const CURRENCIES = Intl.supportedValuesOf('currency');

test('the console counts every currency as the service does', (t) => {
  t.true(CURRENCIES.length > 150);
  t.deepEqual(
    CURRENCIES.filter((currency) => inConsole(currency) !== decimalsOf(currency)),
    [],
  );
});

test('where the provider counts hundredths of a currency without coins, an amount is a hundredth of what Intl makes of it', (t) => {
  const known = (currency: string) =>
    new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits;
  t.deepEqual(['ISK', 'UGX', 'HUF', 'IDR'].map(known), [0, 0, 0, 0]);
  t.deepEqual(
    ['ISK', 'UGX', 'HUF', 'IDR', 'JPY', 'BHD', 'USD'].map((currency) => inUnits(12_300, currency)),
    ['123.00', '123.00', '123.00', '123.00', '12300', '12.300', '123.00'],
  );
});
