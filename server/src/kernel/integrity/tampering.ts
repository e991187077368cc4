/** The action of the entry that reports refused or deleted segments. */
export const TAMPERING_ACTION = 'audit:tampering';
/** The action of the entry that reports changes which a node had not committed when it crashed. */
export const LOST_ACTION = 'audit:lost';
