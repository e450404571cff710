// The read model of erasures, for the process that carries them out.
import { idOf } from '../../events/streams.ts';
import { erasures } from '../../readmodels/users/erasures.ts';
import { type Projection, projection } from '../projection.ts';

export const erasuresProjection: Projection = projection({
  name: 'erasures',
  version: 1,
  collections: [erasures],
  covers: ['user'],
  ignores: [
    ...(['UserRegistered', 'UserUpdated', 'IdentityReported', 'FingerprintRecorded'] as const),
    ...([
      'SignupBonusApproved',
      'SignupBonusWithheld',
      'UsageLimitSet',
      'SpendingLimitSet',
      'CreditMailsSet',
      'UsageSet',
    ] as const),
    ...(['UserNamed', 'UserRoleSeen', 'NotesUpdated', 'UserStarred', 'UserUnstarred', 'SessionsEnded'] as const),
  ],
  begin: (open) => open(erasures),
  on: {
    UserErased: ({ stream, metadata: { at: since } }, documents) =>
      documents.write([{ replace: { _id: idOf(stream), since } }]),
    UserForgotten: ({ stream }, documents) => documents.write([{ delete: idOf(stream) }]),
  },
});
