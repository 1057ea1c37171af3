import { useGraphiQL, useMonaco } from '@graphiql/react';
import type { editor } from 'monaco-editor';
import { useEffect } from 'react';

/** The names of the editors' themes, as GraphiQL takes them. */
export const editorTheme = { light: 'likewise-light', dark: 'likewise-dark' };

/** GraphiQL's colours with more contrast: its own editor themes are too faint for comments, line numbers and numbers. */
const themes: Record<string, editor.IStandaloneThemeData> = {
  [editorTheme.light]: {
    base: 'vs',
    inherit: true,
    rules: [
      { token: 'argument.identifier.gql', foreground: '5a57b8' },
      { token: 'number', foreground: '07704a' },
      { token: 'type', foreground: '007070' },
    ],
    colors: {
      ...surfaces('#d60590', '#ffffff', '#3b4b6811'),
      'quickInputList.focusForeground': '#444444',
      'editorBracketHighlight.foreground2': '#21701f',
      'editor.placeholder.foreground': '#4c5b77',
    },
  },
  [editorTheme.dark]: {
    base: 'vs-dark',
    inherit: true,
    rules: [
      { token: 'argument.identifier.gql', foreground: 'a5a0ff' },
      { token: 'comment', foreground: '8cb878' },
      { token: 'keyword', foreground: '6cb0e6' },
    ],
    colors: {
      ...surfaces('#ff5794', '#212a3b', '#b7c2d711'),
      'quickInputList.focusForeground': '#ffffff',
      'editorLineNumber.foreground': '#9aa5b8',
      'editorBracketHighlight.foreground2': '#e291e0',
      'editorBracketHighlight.foreground3': '#5bb4ff',
      'editor.placeholder.foreground': '#b7c2d7',
    },
  },
};

/** What GraphiQL's own themes give what stands around the text, and over it. */
function surfaces(primary: string, ground: string, field: string): editor.IColors {
  const hovered = `${primary}19`;
  const none = '#ffffff00';
  return {
    'editor.background': none,
    'scrollbar.shadow': none,
    focusBorder: primary,
    'textLink.foreground': primary,
    'textLink.activeForeground': primary,
    'editorLink.activeForeground': primary,
    'editorWidget.background': ground,
    'editorWidget.resizeBorder': primary,
    'editorHoverWidget.background': ground,
    'editorSuggestWidget.background': ground,
    'editorSuggestWidget.selectedBackground': hovered,
    'editorSuggestWidget.selectedForeground': primary,
    'list.hoverBackground': hovered,
    'list.highlightForeground': primary,
    'list.focusHighlightForeground': primary,
    'menu.background': ground,
    'menu.selectionBackground': hovered,
    'menu.selectionForeground': primary,
    'quickInput.background': ground,
    'quickInputList.focusBackground': hovered,
    'pickerGroup.foreground': primary,
    'input.background': field,
    'inputOption.hoverBackground': hovered,
    'toolbar.hoverBackground': hovered,
  };
}

/** Tells Monaco of the themes as soon as it is there. The first editor asks for one a moment earlier. */
export function EditorColours() {
  const monaco = useMonaco((state) => state.monaco);
  const theme = useGraphiQL((state) => state.monacoTheme);
  useEffect(() => {
    if (!monaco) return;
    for (const [name, colours] of Object.entries(themes)) monaco.editor.defineTheme(name, colours);
    if (theme) monaco.editor.setTheme(theme);
  }, [monaco, theme]);
  return null;
}
