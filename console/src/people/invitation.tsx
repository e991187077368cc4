import { me } from '../app/api.ts';
import { invitationLink } from '../app/invitation-link.ts';
import { Button } from '../ui/button.tsx';
import { copyForAWhile } from '../ui/clipboard.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Notice } from '../ui/notice.tsx';
import { shared } from '../ui/texts.ts';
import { peopleTexts as texts } from './texts.ts';

/** An invitation that was just made. */
export interface Invited {
  readonly email: string;
  readonly token: string;
}

/** The code is in the fragment of the link, which no browser sends anywhere. It is in the document only while this is open. */
export function InvitationCode({ invited, onClose }: { invited: Invited; onClose: () => void }) {
  const link = invitationLink(invited.token);
  const message = texts.invitationMessage(me.value?.tenant.name ?? '', link);
  return (
    <Dialog title={texts.invitationTitle(invited.email)} onClose={onClose} isShownOnce>
      <p>{texts.invitationTell}</p>
      <Notice kind="warning">{shared.shownOnce}</Notice>
      <div class="value">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long value scrolls, which must be possible by keyboard */}
        <output class="value-text" aria-label={texts.invitationLink} tabIndex={0}>
          {link}
        </output>
      </div>
      <details>
        <summary>{texts.withoutLink}</summary>
        <p>{texts.withoutLinkTell(`${location.origin}/`)}</p>
        <div class="value">
          <output class="value-text" aria-label={texts.invitationLabel}>
            {invited.token}
          </output>
        </div>
      </details>
      <div class="dialog-foot">
        <Button onClick={onClose}>{shared.close}</Button>
        <Button onClick={() => void copyForAWhile(message)}>{texts.copyMessage}</Button>
        <Button kind="primary" onClick={() => void copyForAWhile(link)}>
          {texts.copyLink}
        </Button>
      </div>
    </Dialog>
  );
}
