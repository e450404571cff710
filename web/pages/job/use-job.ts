// A job as it is now: the first answer, then the service's events, and how fast it goes.
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Answer, type AnswerOf, urlOf, useAnswer } from '../../api/ask.ts';

export type Job = AnswerOf<'GET /jobs/{job_id}'>;

export interface Speed {
  /** URLs a second over the last events; null before there are two. */
  per_s: number | null;
  /** The completed URLs that figures and results are asked for: they follow every few seconds. */
  seen: string;
}

const REFRESH_MS = 2000;
const RETRY_MS = 3000;
/** The speed is measured over this time. */
const WINDOW_MS = 10_000;

export interface Followed {
  job: Answer<Job>;
  is_deleted: boolean;
  /** Whether the events have stopped coming, so that the job may be further than this. */
  is_lost: boolean;
  speed: Speed;
}

export function useJob(job_id: string): Followed {
  const answer = useAnswer('GET /jobs/{job_id}', { job_id });
  const [live, setLive] = useState<Job | null>(null);
  const [is_deleted, setDeleted] = useState(false);
  const [is_lost, setLost] = useState(false);
  const job = live && !isNewer(answer.value, live) ? live : answer.value;
  const is_followed = answer.value !== undefined && !is_deleted;
  const is_over = job !== undefined && job.completed_at !== null;

  useEffect(() => {
    if (!is_followed || is_over) return;
    let source: EventSource;
    let timer: ReturnType<typeof setTimeout>;
    function follow() {
      source = new EventSource(urlOf('GET /jobs/{job_id}/events', { job_id }));
      const take = ({ data }: MessageEvent<string>) => setLive(JSON.parse(data) as Job);
      source.addEventListener('open', () => setLost(false));
      source.addEventListener('progress', take);
      source.addEventListener('in_flight', take);
      source.addEventListener('end', (event) => {
        take(event);
        source.close();
      });
      source.addEventListener('deleted', () => {
        source.close();
        setDeleted(true);
      });
      // The browser reconnects after a lost connection, but not after an answer such as 503.
      source.addEventListener('error', () => {
        setLost(true);
        if (source.readyState === EventSource.CLOSED) timer = setTimeout(follow, RETRY_MS);
      });
    }
    follow();
    return () => {
      source.close();
      clearTimeout(timer);
    };
  }, [job_id, is_followed, is_over]);

  return { job: { ...answer, value: job }, is_deleted, is_lost: is_lost && !is_over, speed: useSpeed(job) };
}

/** An answer that was asked for after the last event, by an action of the reader, tells more than the event. */
const isNewer = (answer: Job | undefined, live: Job) =>
  answer !== undefined &&
  (answer.completed_urls > live.completed_urls || (answer.completed_at !== null && live.completed_at === null));

function useSpeed(job: Job | undefined): Speed {
  const samples = useRef<{ at: number; urls: number }[]>([]);
  const [seen, setSeen] = useState('');
  const completed = job?.completed_urls;
  const now_seen = `${job?.status} ${completed}`;
  const refreshed_at = useRef(0);

  useEffect(() => {
    if (job === undefined) return;
    const wait_ms = Math.max(0, refreshed_at.current + REFRESH_MS - performance.now());
    const timer = setTimeout(() => {
      refreshed_at.current = performance.now();
      setSeen(now_seen);
    }, wait_ms);
    return () => clearTimeout(timer);
  }, [now_seen, job === undefined]);

  if (completed !== undefined && samples.current.at(-1)?.urls !== completed) {
    const at = performance.now();
    samples.current = [...samples.current.filter((sample) => at - sample.at < WINDOW_MS), { at, urls: completed }];
  }
  const [first, last] = [samples.current[0], samples.current.at(-1)];
  const has_two = first !== undefined && last !== undefined && last.at > first.at;
  return { per_s: has_two ? ((last.urls - first.urls) * 1000) / (last.at - first.at) : null, seen };
}
