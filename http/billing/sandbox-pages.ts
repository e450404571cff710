// The pages of the payment sandbox: HTML without scripts, which loads nothing.

import { hash } from 'node:crypto';
import { priceOf } from '../../events/money.ts';
import type { Subscription } from '../../events/subscription-state.ts';
import { escaped } from '../frame/answers/html.ts';
import type { SandboxCheckout } from './payments.ts';

const STYLE = `
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; background: #f4f4f2; color: #1b1b1b; }
main { max-width: 28rem; margin: 3rem auto; padding: 2rem; background: #fff; border-radius: .5rem; border: 1px solid #ddd; }
.sandbox { background: #ffd54a; text-align: center; padding: .75rem; font-weight: 600; }
.price { font-size: 2rem; margin: .5rem 0 1.5rem; }
button { font: inherit; padding: .6rem 1.4rem; margin-right: .5rem; border-radius: .4rem; border: 1px solid #1b1b1b; background: #fff; cursor: pointer; }
button.main { background: #1b1b1b; color: #fff; }
form { display: inline; }
`;
const STYLE_HASH = hash('sha256', STYLE, 'base64');

/** The page loads nothing, and its forms lead to this service. */
export const PAGE_HEADERS = {
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
};

const layout = (title: string, body: string, is_sandbox: boolean) =>
  `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${STYLE}</style></head>
<body>
${is_sandbox ? '<div class="sandbox">SANDBOX: this page moves no money.</div>\n' : ''}<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`;

/** The buttons post nothing: what is paid is in the page's own address. */
export function checkoutPage(
  session_id: string,
  checkout: SandboxCheckout,
  state: 'open' | 'paid' | 'declined',
): string {
  const { item, currency, user_id } = checkout;
  const period = item.kind === 'plan' ? ` a ${item.interval}` : '';
  const lines = [
    `<p>${escaped(item.name)}: ${item.credits.toLocaleString('en')} credits${period} for ${escaped(user_id)}</p>`,
    `<p class="price">${priceOf(item.price_cents, currency)}${period}</p>`,
  ];
  const button = (action: string, label: string, kind: string) =>
    `<form method="post" action="${escaped(`${session_id}/${action}`)}"><button class="${kind}">${label}</button></form>`;
  const ways = {
    open: [button('pay', 'Pay', 'main'), button('decline', 'Decline', 'other')],
    paid: [`<p>This checkout is paid. <a href="${escaped(checkout.success_url)}">Go on</a></p>`],
    declined: [`<p>This checkout was declined. <a href="${escaped(checkout.cancel_url)}">Go on</a></p>`],
  };
  return layout('Checkout', [...lines, ...ways[state]].join('\n'), true);
}

const OUTCOMES = {
  done: [
    'Thank you',
    'Your credits or your plan appear as soon as the payment provider confirms the payment. You can close this page.',
  ],
  cancelled: ['Nothing was paid', 'The checkout was cancelled. You can close this page.'],
} as const;

export function outcomePage(outcome: keyof typeof OUTCOMES): string {
  const [title, text] = OUTCOMES[outcome];
  return layout(title, `<p>${text}</p>`, false);
}

/** Leads on at once, without a script. */
export const leadingPage = (url: string) =>
  layout(
    'Go on',
    `<meta http-equiv="refresh" content="0;url=${escaped(url)}"><a href="${escaped(url)}">Go on</a>`,
    true,
  );

export interface PortalPayment {
  payment_id: string;
  amount_cents: number;
  currency: string;
  credits: number;
  is_reversed: boolean;
}

export function portalPage(
  session_id: string,
  return_url: string,
  plan: Subscription | null,
  payments: readonly PortalPayment[],
): string {
  const button = (action: string, label: string) =>
    `<form method="post" action="${escaped(`${session_id}/${action}`)}"><button>${label}</button></form>`;
  const ends = plan?.cancel_at ?? plan?.grace_until;
  const of_plan = plan
    ? [
        `<p>${escaped(plan.plan)}, by the ${plan.interval}: ${plan.status}, until ${plan.period_end.slice(0, 10)}` +
          `${ends ? `; ends ${ends.slice(0, 10)}` : ''}</p>`,
        button('renew', 'Renew, and pay'),
        button('fail', 'Renew, and fail to pay'),
        button('cancel', 'Cancel'),
      ]
    : ['<p>You have no subscription.</p>'];
  const of_payments = payments.flatMap(({ payment_id, amount_cents, currency, credits, is_reversed }) => {
    const of = `?payment_id=${encodeURIComponent(payment_id)}`;
    const ways = is_reversed
      ? [button(`win${of}`, 'Undo')]
      : [button(`refund${of}`, 'Refund'), button(`dispute${of}`, 'Dispute')];
    return [`<p>${priceOf(amount_cents, currency)} for ${credits.toLocaleString('en')} credits ${ways.join('')}</p>`];
  });
  const back = `<p><a href="${escaped(return_url)}">Go back</a></p>`;
  return layout('Your plan and payments', [...of_plan, ...of_payments, back].join('\n'), true);
}
