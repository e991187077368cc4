export { approveByOperator, breakGlass, cancelByOperator, recordUse as recordBreakGlassUse } from './break-glass.ts';
export { usesOf as breakGlassUsesOf } from './break-glass-store.ts';
export { sharedApprovalPorts, sharedApprovalQueue, usersWithSignOn } from './links.ts';
export { APPROVALS, moveRequests } from './store.ts';
