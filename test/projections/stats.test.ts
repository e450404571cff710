// Statistics are what a plain recount of the results finds, however the log is cut into transactions.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { ERROR_CODES, type URLChecked, VERDICTS } from '../../events/checks.ts';
import type { RecordedEvent } from '../../events/event-store.ts';
import { checksStream, jobStream } from '../../events/streams.ts';
import { jobsProjection } from '../../projections/jobs.ts';
import type { CollectionSpec, Document, Documents } from '../../readmodels/documents.ts';
import { groupBy } from '../../readmodels/stats.ts';
