// Titles that say that a page is missing, in many languages, and titles that only look like it.
import test from 'ava';
import { notFoundSaying } from '../../../checkers/engine/phrases.ts';

const SAYS = [
  ['English', 'Page not found'],
  ['English', '404 - Page Not Found | Example'],
  ['English', 'Sorry, this page isn’t available.'],
  ['English', 'Oops! That page can’t be found.'],
  ['English', '404'],
  ['English', 'Error 404'],
  ['English', 'Character Not Found'],
  ['English', 'No longer available'],
  ['English', "That page doesn't exist."],
  ['English', 'This listing is no longer available'],
  ['English', 'Sorry, this job has expired'],
  ['English', 'We couldn’t find that recipe'],
  ['English', 'Lost? This page does not exist'],
  ['German', 'Wie schade! Diese Seite existiert nicht'],
  ['German', 'Seite nicht gefunden – Beispiel GmbH'],
  ['French', 'Page introuvable - Exemple'],
  ['French', "Désolé, cette page n'existe pas"],
  ['Spanish', 'Página no encontrada | Ejemplo'],
  ['Portuguese', 'Página não encontrada'],
  ['Italian', 'Pagina non trovata'],
  ['Dutch', 'Pagina niet gevonden'],
  ['Polish', 'Nie znaleziono strony'],
  ['Czech', 'Stránka nenalezena'],
  ['Swedish', 'Sidan kunde inte hittas'],
  ['Danish', 'Siden blev ikke fundet'],
  ['Norwegian', 'Siden ble ikke funnet'],
  ['Finnish', 'Sivua ei löytynyt'],
  ['Hungarian', 'Az oldal nem található'],
  ['Romanian', 'Pagina nu a fost găsită'],
  ['Greek', 'Η σελίδα δεν βρέθηκε'],
  ['Turkish', 'Sayfa bulunamadı'],
  ['Russian', 'Страница не найдена — Пример'],
  ['Ukrainian', 'Сторінку не знайдено'],
  ['Japanese', 'ページが見つかりません'],
  ['Chinese', '页面不存在'],
  ['Chinese', '找不到網頁'],
  ['Korean', '페이지를 찾을 수 없습니다'],
  ['Arabic', 'الصفحة غير موجودة'],
  ['Hebrew', 'הדף לא נמצא'],
  ['Indonesian', 'Halaman tidak ditemukan'],
  ['Vietnamese', 'Không tìm thấy trang'],
  ['Hindi', 'पृष्ठ नहीं मिला'],
  ['Afrikaans', 'Bladsy nie gevind nie'],
  ['Catalan', "No s'ha trobat la pàgina"],
  ['Basque', 'Ez da orria aurkitu'],
  ['Estonian', 'Lehte ei leitud'],
  ['Latvian', 'Lapa nav atrasta'],
  ['Lithuanian', 'Puslapis nerastas'],
  ['Slovene', 'Strani ni mogoče najti'],
  ['Serbian', 'Страница није пронађена'],
  ['Albanian', 'Faqja nuk u gjet'],
  ['Georgian', 'გვერდი ვერ მოიძებნა'],
  ['Kazakh', 'Бет табылмады'],
  ['Persian', 'صفحه‌ای یافت نشد'],
  ['Urdu', 'صفحہ نہیں ملا'],
  ['Bengali', 'পৃষ্ঠাটি খুঁজে পাওয়া যায়নি'],
  ['Tamil', 'பக்கம் கிடைக்கவில்லை'],
  ['Swahili', 'Ukurasa haukupatikana'],
  ['Romanian without diacritics', 'Pagina nu a fost gasita'],
  ['Polish without diacritics', 'Nie znaleziono zadanej strony'],
  ['Persian digits', 'خطای ۴۰۴'],
] as const;

for (const [language, title] of SAYS) {
  test(`the title '${title}' (${language}) says that the page is missing`, (t) =>
    t.regex(notFoundSaying(title) ?? '', /^(?:gone|bare)$/));
}

const SAYS_NOT = [
  'Welcome to the shop',
  'page-404',
  'pages/page-410',
  'Route 404: a road trip through Nevada',
  'Peugeot 404 cabriolet for sale',
  'Lost and found',
  'Error handling in Go',
  'Foundation | About us',
  'Nothing compares: knitwear for winter',
  'Why we removed the old pages',
  'This dog is missing',
  'The mill has closed',
  'Le livre a été publié en mars',
  "L'article n'est pas terminé",
  'Das Bild ist nicht mehr zeitgemäß',
  'El producto ya no está de moda',
  'Книга больше не пылится на полке',
  '商品に問題はありません',
  '이 상품은 반품할 수 없습니다',
  'حذف صفحة من فيسبوك',
  'Удалённая работа: вакансии',
  'Megszűnt termékek',
  '已删除文件列表',
  '삭제된 파일 목록',
  'Wygasłe oferty pracy',
  '',
];

for (const title of SAYS_NOT) {
  test(`the title '${title}' does not say that the page is missing`, (t) => t.is(notFoundSaying(title), null));
}

const MENTIONS = [
  'How to fix the "page not found" error in your new WordPress installation',
  'Page not found error in WordPress - Site Builders',
  '404 Not Found: a short history of the web’s best-known error',
  'Was bedeutet „Seite nicht gefunden“?',
  'Erreur 404 : que faire ?',
  '「ページが見つかりません」と表示されるときの対処法',
  'Error 404 after firmware update',
  'A quarter of web pages from the last decade no longer exist, study finds',
  'This video is not available in your country',
  'This page is temporarily unavailable',
];

for (const title of MENTIONS) {
  test(`the title '${title}' only mentions missing pages`, (t) => t.is(notFoundSaying(title), 'mentions'));
}
