export { decided, endOf, loadDecided, markSeen } from './decided.ts';
export { loadNamesOf } from './names.ts';
export { ApprovalStatus } from './status.tsx';
export { approvalTitle } from './title.ts';
export { isOwn, loadWaiting, waitingForMe } from './waiting.ts';
