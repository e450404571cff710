// The read model of what a person has to decide about money.
import { idOf } from '../../events/streams.ts';
import { type PaymentIssueDocument, paymentIssues } from '../../readmodels/billing/payment-issues.ts';
import { type Projection, projection } from '../projection.ts';
import { readAll, replaceAll } from '../slices.ts';

type Page = Map<string, PaymentIssueDocument>;

export const paymentIssuesProjection: Projection = projection({
  name: 'payment_issues',
  version: 1,
  collections: [paymentIssues],
  covers: ['payment_issue'],
  begin: async (open, events): Promise<Page> =>
    readAll(
      await open(paymentIssues),
      events.map(({ stream }) => idOf(stream)),
    ),
  on: {
    PaymentIssueRaised({ stream, data, metadata: { at } }, page) {
      const open = { status: 'open' as const, raised_at: at, resolved_at: null, resolved_by: null, note: null };
      page.set(idOf(stream), { _id: idOf(stream), ...data, ...open });
    },
    PaymentIssueResolved({ stream, data: { note }, metadata: { at, actor } }, page) {
      const issue = page.get(idOf(stream));
      if (!issue) return;
      const resolved = { status: 'resolved' as const, resolved_at: at, resolved_by: actor, note };
      page.set(issue._id, { ...issue, ...resolved });
    },
  },
  async end(page, open) {
    await replaceAll(await open(paymentIssues), page.values());
  },
});
