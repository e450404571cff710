// Every event type of the log with its JSON Schema: what analysts read it by, and what a test holds every event to.
import type { TSchema } from 'typebox';
import { ApiKeyCreated, ApiKeyRevoked } from './api-key.ts';
import { DomainBlocked, DomainBlockUpdated, DomainUnblocked } from './blocked-domain.ts';
import { URLChecked } from './checks.ts';
import { CreditsAdjusted, CreditsExpired, CreditsGranted, CreditsRefunded, CreditsReserved } from './credits.ts';
import { DomainsChecked } from './domain-checks.ts';
import {
  JobCancelled,
  JobCompleted,
  JobCreated,
  JobDeleted,
  JobFailed,
  JobPaused,
  JobPurged,
  JobResumed,
  ListingDiscarded,
  ReservationVoided,
  ResultsPurged,
  UrlsListed,
} from './job.ts';
import { ShareCreated, ShareRevoked, ShareUsed } from './share.ts';
import { UserRegistered, UserUpdated } from './user.ts';

/** By stream category, then by event type. */
export const VOCABULARY: Readonly<Record<string, Readonly<Record<string, TSchema>>>> = {
  user: { UserRegistered, UserUpdated },
  credits: { CreditsGranted, CreditsReserved, CreditsRefunded, CreditsAdjusted, CreditsExpired },
  job: {
    JobCreated,
    JobPaused,
    JobResumed,
    JobCancelled,
    JobCompleted,
    JobFailed,
    JobDeleted,
    ResultsPurged,
    JobPurged,
    ReservationVoided,
    ListingDiscarded,
  },
  urls: { UrlsListed },
  checks: { URLChecked },
  domain_checks: { DomainsChecked },
  apikey: { ApiKeyCreated, ApiKeyRevoked },
  blocked_domain: { DomainBlocked, DomainBlockUpdated, DomainUnblocked },
  share: { ShareCreated, ShareRevoked, ShareUsed },
};
