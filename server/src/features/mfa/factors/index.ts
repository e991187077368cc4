export { countRecoveryCodes, RECOVERY_CODES, TOTP } from './factor-store.ts';
export {
  type CurrentFactor,
  currentFactor,
  deleteFactorsOf as deleteSecondFactor,
  factorsOf,
  hasAny,
  hasFactor,
  RECOVERY_FACTOR,
  type ShownFactor,
  TOTP_FACTOR,
  usersWithFactor,
} from './factors.ts';
