// The jobs that a user created, day by day.
import { useAnswer } from '../../../api/use-answer.ts';
import { Failure } from '../../../ui/failure.tsx';
import { LineChart } from '../../../ui/line-chart.tsx';
import { counted } from '../../../ui/numbers.ts';
import { Periods, usePeriod } from '../period.tsx';

export function Activity({ user_id }: { user_id: string }) {
  const activity = useAnswer('GET /admin/user-activity/{user_id}', { user_id, period: usePeriod() });
  return (
    <section class="section" aria-label="Activity">
      <Periods />
      <Failure of={activity} />
      {activity.value && (
        <LineChart
          title={`${counted(activity.value.jobs, 'job')} on ${counted(activity.value.active_days, 'day')}`}
          times={activity.value.series.map(({ day }) => day)}
          lines={[{ label: 'Jobs', color: 'accent', values: activity.value.series.map(({ jobs }) => jobs) }]}
        />
      )}
    </section>
  );
}
