export { auditAddress } from './filter.ts';
