export { policiesAttachedTo } from './attached-policies.ts';
export {
  allPoliciesOfConnection,
  clientIdOfConnection,
  connectionRemoved,
  limitsOfConnection,
  resourcesOfConnection,
  rightsOfEverybody,
} from './links.ts';
export { AllowedKind } from './schemas.ts';
export { policiesOfConnection, policiesOfUser } from './service.ts';
export { policyToSimulate } from './simulation.ts';
export { ATTACHMENTS, POLICIES } from './store.ts';
export type { RightsOfSome } from './who-can.ts';
