export { type ExpectedHead, type Verification, verify as verifyTenant } from './verification.ts';
