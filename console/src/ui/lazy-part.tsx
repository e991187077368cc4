import { type ComponentType, h } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { asCofferError } from '../app/loading.ts';
import { check, reconnections, unreachableSince } from '../app/reachable.ts';
import { ErrorNote } from './notice.tsx';

type Load<P extends object> = () => Promise<{ default: ComponentType<P> }>;

/** A part of a page that is loaded when it is shown first. */
export function lazyPart<P extends object>(load: Load<P>): ComponentType<P> {
  return function LazyPart(props: P) {
    return <Lazy load={load} props={props} whenMissing={(fail) => fail()} />;
  };
}

/** Something that is loaded when it is shown. `whenMissing` decides what to do if the service is there and the script is not. */
export function Lazy<P extends object>({
  load,
  props,
  whenMissing,
}: {
  load: Load<P>;
  props: P;
  whenMissing: (fail: () => void) => void;
}) {
  const [Part, setPart] = useState<ComponentType<P> | null>(null);
  const [error, setError] = useState<unknown>(null);
  const reconnected = reconnections.value;
  useEffect(() => {
    load().then(
      (module) => setPart(() => module.default),
      async (failed) => {
        // Browsers do not load a script again that failed once, so the page is, as soon as there is a connection.
        if (await check()) whenMissing(() => setError(failed));
      },
    );
  }, []);
  useEffect(() => {
    if (Part === null && reconnected > 0 && unreachableSince.value === null) location.reload();
  }, [reconnected]);
  if (error !== null) return <ErrorNote error={asCofferError(error)} retry={() => location.reload()} />;
  return Part === null ? null : h(Part, props);
}
