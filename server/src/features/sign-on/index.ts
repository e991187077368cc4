export { denied, givesRole, roleOf, SUBJECT } from './accounts.ts';
export { addLink, endSessionsWith, type LinkOutcome, linksOf, removeLink } from './identity-links.ts';
export { provisionedGroups, signOnProviderRemoved } from './links.ts';
export { PendingSignIn } from './pending-sign-in.ts';
export { BegunAtProvider, browserAnswer, providerParam } from './schemas.ts';
