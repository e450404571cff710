// An entry of the worker log: an attempt at a URL.
import type { AnswerOf } from '../../../api/ask.ts';

export type Entry = AnswerOf<'GET /logs'>['items'][number];
