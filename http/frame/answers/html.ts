// Text in HTML.

/** Text of anybody as part of a page: in an element or in a quoted attribute. */
export const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
