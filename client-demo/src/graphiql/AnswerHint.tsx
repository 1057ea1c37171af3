import { formatShortcutForOS, KEY_MAP, useGraphiQL } from '@graphiql/react';
import { useEffect } from 'react';

const HINT = `Press ▶ or ${formatShortcutForOS(KEY_MAP.runQuery.key, 'Cmd')} to run the operation.`;

/** Says, where an answer will be, how to get one. */
export function AnswerHint() {
  const editor = useGraphiQL((state) => state.responseEditor);
  const waiting = useGraphiQL((state) => state.isFetching);
  useEffect(() => editor?.updateOptions({ placeholder: waiting ? '' : HINT }), [editor, waiting]);
  return null;
}
