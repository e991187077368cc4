/** Shown when another session replaced the one of this page. */
export const sessionChangedText =
  'The session of this browser was replaced, so it is no longer yours. What you did last was refused and changed nothing. Load the page again and sign in. If you did not sign in as somebody else yourself, another program on this host may have done it: tell the operator of this service.';
