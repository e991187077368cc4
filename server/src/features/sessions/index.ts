export { beginTry, deviceSubjects, signupSubjects, succeeded, verificationSubjects } from './back-off.ts';
export { Session } from './contract.ts';
export { requiresSignOn } from './links.ts';
export { identify, issueSession, NO_FACTOR, sessionAnswer } from './service.ts';
export { signInReport } from './sign-in-report.ts';
