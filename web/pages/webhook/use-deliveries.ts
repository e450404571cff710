// A page of the deliveries to an endpoint, kept current while one of them is under way.
import { useEffect } from 'preact/hooks';
import { type Answer, type AnswerOf, useEvery } from '../../api/ask.ts';
import { useList } from '../../ui/table.tsx';

export type DeliveryPage = AnswerOf<'GET /webhooks/endpoints/{id}/deliveries'>;
export type Delivery = DeliveryPage['items'][number];

const SOON_MS = 1000;
const LATER_MS = 15_000;

/** `onEnd` hears of each delivery of the page that is no longer under way. */
export function useDeliveries(id: string, onEnd: () => void): Answer<DeliveryPage> {
  const deliveries = useList('GET /webhooks/endpoints/{id}/deliveries', { id });
  const pending = deliveries.value?.items.filter(({ status }) => status === 'pending') ?? [];
  const is_soon = pending.some((one) => Date.parse(one.next_attempt_at ?? one.created_at) < Date.now() + LATER_MS);
  useEvery(is_soon ? SOON_MS : LATER_MS, deliveries);
  useEffect(onEnd, [onEnd, pending.length]);
  return deliveries;
}
