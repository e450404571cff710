// The balance, and how much of the plan and of the limits is used.
import { useAnswer } from '../../api/use-answer.ts';
import type { Profile } from '../../app/session.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Figure, Figures } from '../../ui/figures.tsx';
import { bytes, grouped, percent } from '../../ui/numbers.ts';
import { UsedFigure } from '../../ui/used-figure.tsx';
import { SpendingLimit } from './spending-limit.tsx';

const REASONS = {
  credit_ceiling: 'You have no credits left: jobs wait until you buy some.',
  usage_limit: 'Your usage limit is reached: jobs wait until the next period.',
};

export function Usage({ me }: { me: Profile }) {
  const quota = useAnswer('GET /users/me/quota', {}, String(me.credit_balance));
  if (!quota.value) return <Failure of={quota} />;
  const { plan, usage, limits, exhausted_by, trial } = quota.value;
  return (
    <section class="card">
      <Failure of={quota} />
      <Figures>
        <Figure label="Balance" note="credits, one for each URL">
          {grouped(me.credit_balance)}
        </Figure>
        <UsedFigure usage={usage} />
        <Figure label="Plan" note={trial.is_active ? 'on trial' : `${grouped(limits.plan_credits)} credits`}>
          <span class="plan-name">{plan}</span>
        </Figure>
        <Figure label="Largest job" note={`URLs, or a file of ${bytes(limits.max_file_bytes)}`}>
          {grouped(limits.max_urls_per_job)}
        </Figure>
      </Figures>
      {usage.limit !== null && (
        <p class="progress wide">
          <progress value={usage.credits_used} max={Math.max(usage.limit, 1)} aria-label="Used of your limit" />
          {percent(usage.credits_used, usage.limit)} of your limit of {grouped(usage.limit)} credits
        </p>
      )}
      <SpendingLimit limit={limits.spending_limit} onDone={quota.again} />
      {exhausted_by && <p class="notice">{REASONS[exhausted_by]}</p>}
    </section>
  );
}
