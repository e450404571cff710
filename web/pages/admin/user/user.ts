// A user as the service shows one to administrators.
import type { AnswerOf } from '../../../api/ask.ts';

export type User = AnswerOf<'GET /admin/users/{user_id}'>;
