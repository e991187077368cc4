export { INVITATION_TOKEN, settleInvitations } from './invitation.ts';
export { deleteInvitation, findInvitation, type InvitationRow, lockInvitation } from './invitation-store.ts';
