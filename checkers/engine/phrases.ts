// How pages say that there is nothing here, by language. Phrases for titles and headings only: in running text they
// are said of other things too. Lower case, without apostrophes that vary.

/** Whole statements: as a title's or a heading's own text they are as good as a 404. */
export const NOT_FOUND_PHRASES: readonly string[] = [
  // English
  'page not found',
  'page cannot be found',
  "page can't be found",
  'page could not be found',
  "page couldn't be found",
  'page was not found',
  'page does not exist',
  "page doesn't exist",
  'page no longer exists',
  'page is no longer available',
  "page isn't available",
  'page is not available',
  'page unavailable',
  'content not found',
  'content is no longer available',
  "this content isn't available",
  'file not found',
  'file or directory not found',
  'document not found',
  'article not found',
  'post not found',
  'product not found',
  'item not found',
  'user not found',
  'profile not found',
  'video not found',
  'video unavailable',
  'resource not found',
  'object not found',
  'url not found',
  'requested url was not found',
  'listing not found',
  'nothing found',
  'nothing was found',
  'not found',
  '404 error',
  'error 404',
  'http 404',
  'we can not find that page',
  "we can't find that page",
  "we can't find the page",
  "we can't find this page",
  "we couldn't find that page",
  "we couldn't find the page",
  "can't find the page",
  "this page doesn't seem to exist",
  'oops! that page',
  'sorry, this page',
  // German
  'seite nicht gefunden',
  'seite wurde nicht gefunden',
  'seite konnte nicht gefunden werden',
  'seite existiert nicht',
  'seite ist nicht mehr verfügbar',
  'seite nicht verfügbar',
  'nicht gefunden',
  'fehler 404',
  'artikel nicht gefunden',
  // French
  'page non trouvée',
  'page introuvable',
  "page n'existe pas",
  "page n'existe plus",
  "page demandée n'existe pas",
  "page n'a pas été trouvée",
  'contenu introuvable',
  'produit introuvable',
  'article introuvable',
  'erreur 404',
  // Spanish
  'página no encontrada',
  'pagina no encontrada',
  'página no existe',
  'no se encontró la página',
  'no se ha encontrado la página',
  'no se encuentra la página',
  'contenido no encontrado',
  'no encontrado',
  // Portuguese
  'página não encontrada',
  'pagina nao encontrada',
  'página não existe',
  'não encontramos a página',
  'conteúdo não encontrado',
  'não encontrado',
  'erro 404',
  // Italian
  'pagina non trovata',
  'pagina non esiste',
  'pagina inesistente',
  'contenuto non trovato',
  'non trovato',
  'errore 404',
  // Dutch
  'pagina niet gevonden',
  'pagina bestaat niet',
  'niet gevonden',
  'fout 404',
  // Polish
  'nie znaleziono strony',
  'strona nie została znaleziona',
  'strona nie istnieje',
  'nie znaleziono',
  'błąd 404',
  // Czech and Slovak
  'stránka nenalezena',
  'stránka nebyla nalezena',
  'stránka neexistuje',
  'stránka sa nenašla',
  'stránka nebola nájdená',
  // Swedish, Danish, Norwegian, Finnish
  'sidan hittades inte',
  'sidan kunde inte hittas',
  'sidan finns inte',
  'siden blev ikke fundet',
  'siden findes ikke',
  'siden ble ikke funnet',
  'siden finnes ikke',
  'fant ikke siden',
  'sivua ei löydy',
  'sivua ei löytynyt',
  // Hungarian, Romanian, Greek
  'az oldal nem található',
  'oldal nem található',
  'pagina nu a fost găsită',
  'pagina nu există',
  'pagină negăsită',
  'η σελίδα δεν βρέθηκε',
  'σελίδα δεν βρέθηκε',
  // Turkish
  'sayfa bulunamadı',
  'aradığınız sayfa bulunamadı',
  'hata 404',
  // Russian, Ukrainian, Bulgarian
  'страница не найдена',
  'страница не существует',
  'такой страницы нет',
  'такой страницы не существует',
  'ошибка 404',
  'не найдено',
  'сторінку не знайдено',
  'сторінка не знайдена',
  'сторінки не існує',
  'помилка 404',
  'страницата не е намерена',
  // Japanese
  'ページが見つかりません',
  'ページは見つかりません',
  'ページが存在しません',
  'ページは存在しません',
  'お探しのページ',
  '見つかりませんでした',
  // Chinese
  '页面不存在',
  '页面未找到',
  '找不到页面',
  '找不到该页面',
  '无法找到该页',
  '您访问的页面不存在',
  '頁面不存在',
  '找不到頁面',
  '找不到網頁',
  '找不到此頁面',
  // Korean
  '페이지를 찾을 수 없습니다',
  '존재하지 않는 페이지',
  '페이지가 존재하지 않습니다',
  // Arabic, Hebrew, Persian
  'الصفحة غير موجودة',
  'لم يتم العثور على الصفحة',
  'הדף לא נמצא',
  'העמוד לא נמצא',
  'صفحه یافت نشد',
  'صفحه مورد نظر یافت نشد',
  // Indonesian, Vietnamese, Thai, Hindi
  'halaman tidak ditemukan',
  'không tìm thấy trang',
  'trang không tồn tại',
  'ไม่พบหน้า',
  'पृष्ठ नहीं मिला',
  'पेज नहीं मिला',
];

/** `says`: a part of the text between its separators is little more than a phrase. `mentions`: one is in it. */
export type Saying = 'says' | 'mentions' | null;

/** What separates a title's statement from its site's name. */
const SEPARATORS = /\s*[|•·»«:—–]\s*|\s+[-~/]\s+|\s*\.\.\.\s*/;
/** What may stand about a phrase in a statement: "Sorry, 404: the page you wanted was not found!" */
const SLACK_CHARACTERS = 14;
/** A title that is the number, alone or with a word. */
const ONLY_404 =
  /^(?:(?:http|error|erreur|fehler|errore|erro|oops|ошибка)?[\s#!.:-]*404[\s!.:-]*(?:error|erreur|not found)?)$/;

/** One pass over the text for all phrases; nearly every title ends here. */
const ANY_PHRASE = new RegExp(NOT_FOUND_PHRASES.map((phrase) => RegExp.escape(phrase)).join('|'));

/** Whether a title or heading says that the page is not there. */
export function notFoundSaying(text: string): Saying {
  const folded = text.toLowerCase().replaceAll('’', "'");
  if (ONLY_404.test(folded)) return 'says';
  if (!ANY_PHRASE.test(folded)) return null;
  for (const part of folded.split(SEPARATORS)) {
    for (const phrase of NOT_FOUND_PHRASES) {
      if (part.length <= phrase.length + SLACK_CHARACTERS && part.includes(phrase)) return 'says';
    }
  }
  return 'mentions';
}
