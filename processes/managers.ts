// The process managers that find documents and work on each: all of them, with what they need.

import { openPaymentIssues } from '../commands/billing/payment-issue.ts';
import { openSubscriptions } from '../commands/billing/subscription.ts';
import { openTrials } from '../commands/billing/trial.ts';
import { openDomainChecks } from '../commands/domain-checks.ts';
import { openDeleteJob } from '../commands/jobs/delete-job.ts';
import { openMails } from '../commands/mail.ts';
import { openErasures } from '../commands/users/user.ts';
import { openWebhookDeliveries } from '../commands/webhook-delivery.ts';
import { openWebhookEndpoints } from '../commands/webhook-endpoints.ts';
import { endedJob, jobs } from '../readmodels/jobs/jobs.ts';
import { billingDeadlines } from './billing-deadlines.ts';
import { ceilings, completion } from './completion.ts';
import { contextOf } from './context-of.ts';
import { creditNoticesManagers } from './credit-notices.ts';
import { domainChecks } from './domain-checks.ts';
import { erasures } from './erasures.ts';
import { mails } from './mails.ts';
import type { ManagingOptions } from './options.ts';
import type { AnyManager } from './process-manager.ts';
import { purging } from './purge.ts';
import { PutOff } from './put-off.ts';
import { retention } from './retention.ts';
import { sandboxPayments } from './sandbox-payments.ts';
import { settlement } from './settlement.ts';
import { sweeper } from './sweeper.ts';
import { webhookEndpointCare } from './webhook-endpoints.ts';

/** A job that is deleted waits this long for its own end to be projected. */
const PROJECTED_MS = 1_000;

export function managersOf(options: ManagingOptions): AnyManager[] {
  const { log, readmodels, job_commands, credits, blobs, mailer, logger, removals, now, steady, monotonic } = options;
  const { results_days, trial_credits, expiring_credits_days, account_url } = options;
  const mail_commands = openMails(log);
  const failed_purges = new PutOff(monotonic);
  const jobs_of_users = openDeleteJob(job_commands, credits, async (job_id, position) => {
    const job = (await readmodels.passed(position, PROJECTED_MS)) && (await readmodels.collection(jobs).get(job_id));
    return job ? endedJob(job) : null;
  });
  const [endpoints, deliveries] = [openWebhookEndpoints(log), openWebhookDeliveries(log)];
  return [
    completion({ log, readmodels, job_commands, context: contextOf('completion', now) }),
    ceilings({ job_commands, context: contextOf('completion', now) }),
    settlement({ job_commands, credits, context: contextOf('settlement', now) }),
    domainChecks({ readmodels, domain_checks: openDomainChecks(log), context: contextOf('domain-checks', now) }),
    sweeper({ log, job_commands, credits, blobs, removals, context: contextOf('sweeper', now) }),
    webhookEndpointCare({
      ...{ log, readmodels, endpoints, deliveries, mailer },
      context: contextOf('webhook-endpoints', now),
    }),
    erasures({
      ...{
        log,
        readmodels,
        erasures: openErasures(log, credits.users),
        endpoints,
        job_commands,
        deleteJob: jobs_of_users,
        monotonic,
      },
      ...{ mailer, payments: options.payments, removals, context: contextOf('erasures', now) },
    }),
    ...billingDeadlines({
      ...{ credits, subscriptions: openSubscriptions(log), context: contextOf('dues', steady) },
      trials: trial_credits > 0 ? openTrials(log, credits, trial_credits) : null,
    }),
    // Where the sandbox itself sells, its payments are what is wanted.
    ...(options.payments === null
      ? []
      : [sandboxPayments({ issues: openPaymentIssues(log), context: contextOf('sandbox-payments', now) })]),
    ...creditNoticesManagers({
      ...{ readmodels, credits, mails: mail_commands, expiring_days: expiring_credits_days },
      context: contextOf('credit-notices', steady),
    }),
    mails({ log, mails: mail_commands, mailer, logger, account_url, context: contextOf('mails', now) }),
    purging({ log, job_commands, blobs, removals, context: contextOf('purge', now), put_off: failed_purges }),
    ...(results_days === null
      ? []
      : [
          retention({
            ...{ readmodels, job_commands, days: results_days, failed_purges },
            context: contextOf('retention', steady),
          }),
        ]),
  ];
}
