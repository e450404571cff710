// The phrases of not-found pages, by language: a thing ("page", "product") and its absence ("not found", "no longer
// available") in one short statement. They are for titles, headings and pages of one sentence: in running text the same
// words may describe other things.

interface Language {
  /** Things that may be gone, as alternatives of a pattern; lower case. */
  things: string;
  /** Phrases for the absence of a thing. */
  gone: string;
  /** Phrases for an absence without a thing; some are names of films, bands and status codes too. */
  bare?: string;
}

const LANGUAGES: { readonly [language: string]: Language } = {
  en: {
    things:
      "(?<![\\p{L}-])(?:pages?|web ?page|content|files?|documents?|articles?|posts?|stor(?:y|ies)|recipes?|products?|items?|goods|listings?|ads?|adverts?|jobs?|vacanc(?:y|ies)|positions?|propert(?:y|ies)|events?|courses?|profiles?|users?|accounts?|members?|videos?|images?|photos?|albums?|playlists?|books?|records?|lots?|topics?|threads?|questions?|categor(?:y|ies)|collections?|resources?|urls?|links?|offers?|deals?|projects?|what you(?:'re| are| were)? (?:looking|requested)|(?:this|that) (?!is\\b|was\\b|has\\b|can\\b|could\\b|does\\b)[\\p{L}-]+)(?!\\p{L})",
    gone: "(?:was|were|is|be|are) not (?:be )?found|wasn't found|not (?:be )?found|(?:can(?:no|')t|can not|could(?:n't| not)|unable to) (?:seem to )?(?:be )?(?:find|found|locate)|do(?:es)?(?:n't| not) (?:seem to |appear to )?exist|no longer (?:available|exists?|active|online|listed|live|on sale|for sale|sold|offered|stocked|accepting|stock|sell|offer|carry|part of|in our|here|with us)|(?:is|are)(?:n't| not) available|not available|unavailable|ha(?:s|ve) (?:now )?(?:been )?(?:expired|removed|deleted|discontinued|withdrawn|taken down)|(?<![\\p{L}-])(?:ads?|adverts?|jobs?|listings?|offers?|positions?|vacanc(?:y|ies)|events?|accounts?) (?:has|have) (?:now |already )?(?:been )?(?:closed|ended|filled)|(?:is|was|been) (?:removed|deleted|discontinued)|no such|nothing (?:was )?(?:found|matched|here)",
    bare: 'not found|nothing (?:was )?found|nothing (?:to see )?here|no (?:search )?results?(?: (?:were )?found)?|0 results?(?: found)?|no longer available|410 gone',
  },
  de: {
    things:
      'seite|inhalt|artikel|produkt|beitrag|datei|dokument|anzeige|inserat|angebot|stelle|veranstaltung|profil|benutzer|nutzer|mitglied|video|bild|kategorie|eintrag|rezept|buch|objekt|thema|nachricht|adresse',
    gone: 'nicht gefunden|nicht (?:mehr )?(?:finden|gefunden|verfügbar|vorhanden|erhältlich|lieferbar|online|im sortiment|in unserem sortiment|existent|aktuell)|existiert (?:leider )?nicht|gibt es (?:leider )?nicht|wurde (?:bereits )?(?:gelöscht|entfernt|deaktiviert)|abgelaufen',
    bare: 'nicht gefunden|keine (?:ergebnisse|treffer)|nichts gefunden',
  },
  fr: {
    things:
      'page|contenu|article|produit|fichier|document|annonce|offre|événement|profil|utilisateur|membre|vidéo|image|fiche|recette|livre|sujet|catégorie|adresse|élément',
    gone: "introuvable|non trouvée?|n'existe (?:pas|plus)|n'a (?:pas )?(?:pu être|été) ?(?:pas )?trouvée?|(?:pas|plus) (?:accessible|disponible|en ligne|en vente|d'actualité)|indisponible|a été (?:supprimée?|retirée?|désactivée?)|(?:ne trouvons|n'avons) pas|a expiré",
    bare: 'introuvable|non trouvée?|aucun résultat',
  },
  es: {
    things:
      'página|pagina|contenido|artículo|producto|archivo|documento|anuncio|oferta|evento|perfil|usuario|vídeo|video|imagen|noticia|receta|libro|tema|categoría|inmueble|enlace|publicación',
    gone: 'no (?:se )?(?:ha(?: sido)? )?(?:encontrad[oa]|encontró|encuentra|existe|hallada)|no (?:se )?(?:puede|pudo|podemos|hemos|ha podido) (?:ser )?(?:encontr\\p{L}+|localizar)|(?:ya )?no (?:está )?disponible|ya no (?:existe|está (?:en línea|a la venta|publicad))|ha (?:caducado|expirado|sido (?:eliminad|retirad|borrad)[oa])|no disponible|no encontramos',
    bare: 'no encontrad[oa]|no se (?:han )?(?:encontró|encontraron|encontrado)(?: resultados)?|sin resultados',
  },
  pt: {
    things:
      'página|pagina|conteúdo|artigo|produto|arquivo|ficheiro|documento|anúncio|oferta|vaga|evento|perfil|usuário|utilizador|vídeo|imagem|notícia|receita|livro|categoria|imóvel|publicação',
    gone: 'não (?:foi )?(?:encontrad[oa]|localizad[oa])|nao encontrad[oa]|não (?:existe|encontramos|conseguimos)|não está (?:mais )?disponível|não (?:está )?disponível|já não (?:existe|está (?:online|à venda))|não (?:pôde|pode) ser encontrad[oa]|foi removid[oa]|expirou|indisponível',
    bare: 'não encontrad[oa]|nada (?:foi )?encontrado|nenhum resultado|sem resultados',
  },
  it: {
    things:
      'pagina|contenuto|articolo|prodotto|file|documento|annuncio|offerta|evento|profilo|utente|video|immagine|notizia|ricetta|libro|categoria|immobile|risorsa',
    gone: 'non (?:è )?(?:stat[oa] )?trovat[oa]|non (?:si trova|esiste|trovata)|non (?:è )?(?:più )?(?:disponibile|presente|online|in vendita)|non (?:può|è possibile) (?:essere )?trova|inesistente|è (?:stat[oa] )?(?:rimoss[oa]|eliminat[oa]|scadut[oa])|non riusciamo a trovare|non abbiamo trovato',
    bare: 'non trovat[oa]|nessun risultato|nulla (?:è stato )?trovato',
  },
  nl: {
    things:
      'pagina|inhoud|artikel|product|bestand|document|advertentie|vacature|aanbieding|evenement|profiel|gebruiker|video|afbeelding|bericht|recept|boek|categorie|woning|link',
    gone: 'niet (?:kunnen )?(?:worden )?(?:gevonden|vinden)|(?:bestaat|vinden) (?:helaas )?niet|niet (?:meer )?(?:beschikbaar|leverbaar|verkrijgbaar|online|vinden)|(?:is )?verlopen|is verwijderd|niet langer (?:beschikbaar|leverbaar|online|te koop)',
    bare: 'niet gevonden|geen resultaten|niets gevonden',
  },
  pl: {
    things:
      'stron|treś|artykuł|produkt|plik|dokument|ogłoszeni|ofert|wydarzeni|profil|użytkownik|wideo|film|zdjęci|wiadomoś|przepis|książk|kategori|towar|temat',
    gone: 'nie (?:została |został |zostało )?(?:odnalezion|znalezion)[aoye]?|nie znaleziono|nie odnaleziono|nie istnieje|nie (?:jest )?(?:już )?(?:dostępn[aey]|aktualn[aey])|niedostępn[aey]|nieaktualn[aey]|nie udało się (?:znaleźć|odnaleźć)|nie możemy (?:znaleźć|odnaleźć)|(?:została|został|zostało) usunięt|wygas',
    bare: 'nie znaleziono|brak wyników',
  },
  cs: {
    things:
      'stránk|obsah|článek|článk|produkt|zboží|soubor|dokument|inzerát|nabídk|událost|akce|profil|uživatel|video|obrázek|zpráv|recept|knih|kategori|výrobok|výrobek',
    gone: 'nenalezen|nebyl[aoy]? nalezen|neexistuje|se (?:nám )?nepodařilo (?:najít|nalézt)|není (?:již |už )?(?:dostupn|k dispozici|v nabídce|v prodeji)|nelze (?:najít|nalézt)|sa nenaš|nebol[aoi]? nájden|nenájden|byl[aoy]? (?:odstraněn|smazán)',
    bare: 'nenalezen[aoy]?|nic nenalezeno|žádné výsledky',
  },
  sv: {
    things:
      'sida|innehåll|artikel|produkt|vara|fil|dokument|annons|jobb|tjänst|evenemang|profil|användare|video|bild|nyhet|recept|bok|kategori|inlägg',
    gone: '(?:kunde inte|kan inte|gick inte att) (?:hittas|hitta)|hittades inte|hittar (?:tyvärr )?inte|finns (?:tyvärr )?(?:inte|ej)|existerar inte|inte (?:längre )?(?:tillgänglig|kvar)|har (?:utgått|tagits bort|upphört|gått ut)|är borttagen',
    bare: 'hittades inte|inga (?:resultat|träffar)|ingenting hittades',
  },
  da: {
    things:
      'side|indhold|artikel|produkt|vare|fil|dokument|annonce|job|stilling|begivenhed|profil|bruger|video|billede|nyhed|opskrift|bog|kategori|indlæg|innhold|artikkel|stillingen|bruker|bilde|nyhet|oppskrift|bok',
    gone: '(?:blev|ble) (?:desværre |dessverre )?ikke (?:fundet|funnet)|(?:kunne|kan) (?:desværre |dessverre )?ikke (?:findes|finnes|finde|finne|blive fundet|bli funnet)|(?:findes|finnes|eksisterer) (?:desværre |dessverre )?ikke|(?:fandt|fant|finder|finner) (?:desværre |dessverre )?ikke|ikke (?:længere|lenger) (?:aktiv|online|til sal)|ikke (?:længere |lenger )?(?:tilgængelig|tilgjengelig)|(?:er|blev|ble) (?:fjernet|slettet|udløbet|utløpt|udgået|utgått)',
    bare: 'ikke (?:fundet|funnet)|ingen (?:resultater|treff)',
  },
  fi: {
    things:
      'sivu|sisältö|artikkeli|tuote|tuotetta|tiedosto|asiakirja|ilmoitus|työpaik|tapahtuma|profiili|käyttäjä|video|kuva|uuti|resepti|kirja|kategoria',
    gone: 'ei (?:valitettavasti )?(?:löydy|löytynyt|löydetty|löytyny)|ei ole (?:enää )?(?:olemassa|saatavilla|saatavana|myynnissä|voimassa)|on (?:poistettu|poistunut|vanhentunut)',
    bare: 'ei (?:löydy|löytynyt)|ei (?:hakutuloksia|tuloksia)',
  },
  hu: {
    things:
      'oldal|tartalom|cikk|termék|fájl|dokumentum|hirdetés|állás|esemény|profil|felhasználó|videó|kép|hír|recept|könyv',
    gone: 'nem (?:található|létezik|elérhető|találjuk|találtuk|kapható)|már nem (?:aktuális|elérhető|kapható|létezik)|megszűnt|törölték|törlésre|lejárt',
    bare: 'nem található|nincs találat',
  },
  ro: {
    things:
      'pagin|conținut|articol|produs|fișier|document|anunț|ofert|eveniment|profil|utilizator|video|imagin|știr|rețet',
    gone: 'nu (?:a (?:fost|putut fi) )?găsit|nu (?:mai )?(?:există|exista|este disponibil|e disponibil|poate fi găsit)|negăsit|nu am găsit|a (?:fost șters|expirat|fost eliminat)|indisponibil',
    bare: 'niciun rezultat|nu s-a găsit',
  },
  el: {
    things: 'σελίδα|περιεχόμενο|άρθρο|προϊόν|αρχείο|αγγελία|εκδήλωση|προφίλ|χρήστης|βίντεο',
    gone: 'δεν (?:βρέθηκε|υπάρχει|είναι (?:πλέον )?διαθέσιμ\\p{L}+|μπορεί να βρεθεί|μπορέσαμε)|έχει (?:διαγραφεί|αφαιρεθεί|λήξει)|μη διαθέσιμ',
    bare: 'δεν βρέθηκε|κανένα αποτέλεσμα',
  },
  tr: {
    things:
      'sayfa|içerik|makale|ürün|dosya|belge|ilan|etkinlik|profil|kullanıcı|video|resim|haber|tarif|kitap|kategori|adres',
    gone: 'bulunamadı|bulunamıyor|bulunmuyor|bulunmamaktadır|mevcut değil|artık (?:mevcut|satışta|yayında|kullanılamıyor|yok)|(?:satışta|yayında|geçerli) değil|kaldırıl(?:mış|dı)|silin(?:miş|di)|bulamadık|yayından kaldır',
    bare: 'bulunamadı|sonuç yok',
  },
  ru: {
    things:
      'страниц|контент|материал|стать|товар|продукт|файл|документ|объявлени|ваканси|предложени|событи|мероприяти|профил|пользовател|видео|фото|новост|рецепт|книг|раздел|категори|тем[аы]|запис|лот|адрес',
    gone: 'не (?:был[аои]? )?(?:найден|нашл|существует|доступн|обнаружен)|нет (?:в наличии|на сайте)|(?:такой|такого|этой|этого) \\p{L}+ (?:больше |уже )?(?:нет|не)|не удалось найти|не можем найти|больше не (?:доступ|существу|прода|актуал)|снят[аоы]? с (?:прода|публик|произв)|(?:был[аои]? )?удал[её]н|недоступ',
    bare: 'не найден[аоы]?|ничего не найдено',
  },
  uk: {
    things:
      'сторінк|контент|матеріал|статт|товар|продукт|файл|документ|оголошенн|ваканс|пропозиц|поді[яї]|профіл|користувач|відео|фото|новин|рецепт|книг|розділ|категорі|тем[аи]|запис',
    gone: 'не (?:було )?(?:знайден|існує|доступн)|не вдалося знайти|більше (?:не (?:доступ|існу|прода)|нема)|знят[аоий]* з (?:прод|публ)|видален|недоступ|немає',
    bare: 'не знайдено|нічого не знайдено',
  },
  bg: {
    things: 'страниц|продукт|статия|обява|потребител',
    gone: 'не (?:е|беше|може да бъде) (?:намерен|открит)|не съществува|не е налич|вече не',
  },
  ja: {
    things:
      'ページ|記事|商品|ファイル|投稿|求人|イベント|ユーザー|プロフィール|動画|画像|レシピ|作品|お探し|url|コンテンツ|物件|情報',
    gone: '見つかり(?:ません|ませんでした)|見つけられません|存在しません|存在しない|(?:ページ|商品|記事|投稿)[はが](?:ありません|ございません)|(?:削除|終了|非公開に)(?:され|し)(?:ました|た|ています|ている)|(?:販売|掲載|公開|取り?扱い)(?:を|は|が)?終了|表示できません|利用できません|アクセスできません',
    bare: '見つかり(?:ません|ませんでした)|該当(?:する)?(?:なし|結果はありません)',
  },
  zh: {
    things:
      '页面|网页|頁面|網頁|内容|內容|文章|商品|产品|產品|宝贝|文件|帖子|主题|主題|职位|職位|信息|訊息|资讯|用户|用戶|使用者|视频|影片|图片|圖片|链接|連結|房源|活动|活動|新闻|该页|地址',
    gone: '不存在|未找到|找不到|没有找到|沒有找到|无法找到|無法找到|已(?:经|被|經)?(?:删除|刪除|下架|移除|失效|过期|過期|结束|結束|关闭|關閉|停止|售罄下架)|不可用|无法访问|無法存取|走丢|丢失|飞走',
    bare: '(?:未|没有|沒有)找到|找不到|查無資料|没有结果|无结果',
  },
  ko: {
    things:
      '페이지|게시물|게시글|상품|제품|파일|문서|공고|채용|이벤트|사용자|회원|프로필|동영상|영상|이미지|기사|글|콘텐츠|매물|주소|정보',
    gone: '찾을 수 (?:없습니다|없어요|없음)|존재하지 (?:않습니다|않는|않아요)|없는 (?:페이지|상품|게시)|(?:페이지|상품|게시물)[이가은는]? ?없습니다|삭제(?:되었|된|됐)|(?:판매|게시|공고)(?:가|이)? ?(?:종료|중지|마감)?(?:된|되었|되었습니다|됐)|이용할 수 없',
    bare: '찾을 수 없(?:습니다|음)|검색 ?결과가 없습니다',
  },
  ar: {
    things: 'صفحة|محتوى|مقال|منتج|ملف|إعلان|وظيفة|حدث|مستخدم|فيديو|صورة|خبر|رابط',
    gone: 'غير (?:موجود|متوفر|متاح|متاحة|متوفرة|موجودة)|(?:لم يتم|تعذر|لا يمكن) العثور|لم (?:نعثر|نتمكن)|تم حذف|لا (?:يوجد|توجد) (?:صفحة|منتج)|لم (?:تعد|يعد) (?:متاح|متوفر|موجود)|انتهت صلاحية',
    bare: 'غير موجودة?|لا توجد نتائج',
  },
  he: {
    things: 'דף|עמוד|תוכן|מאמר|כתבה|מוצר|קובץ|מודעה|משרה|אירוע|משתמש|פרופיל|סרטון|תמונה',
    gone: 'לא (?:נמצא|קיים|זמין|ניתן למצוא|מצאנו|הצלחנו)|אינו (?:קיים|זמין)|אינה (?:קיימת|זמינה)|הוסר|נמחק|כבר לא (?:זמי|קיי|פעיל)',
    bare: 'לא נמצא(?:ו תוצאות)?',
  },
  fa: {
    things: 'صفحه|مطلب|محصول|کالا|فایل|آگهی|کاربر|ویدیو|خبر',
    gone: '(?:یافت|پیدا) نشد|وجود ندارد|موجود نیست|در دسترس نیست|حذف شده|منقضی',
    bare: 'یافت نشد',
  },
  hi: {
    things: 'पृष्ठ|पेज|सामग्री|लेख|उत्पाद|फ़ाइल|विज्ञापन|वीडियो|खबर|उपयोगकर्ता',
    gone: 'नहीं मिल|उपलब्ध नहीं|मौजूद नहीं|हटा दि?या|समाप्त हो',
    bare: 'नहीं मिला',
  },
  vi: {
    things:
      'trang|nội dung|bài viết|sản phẩm|tệp|tập tin|tin đăng|việc làm|sự kiện|người dùng|thành viên|video|hình ảnh',
    gone: 'không (?:được )?tìm thấy|không (?:còn )?tồn tại|không (?:còn )?(?:khả dụng|có sẵn|bán)|đã (?:bị )?(?:xóa|xoá|gỡ|hết hạn|ngừng)|ngừng kinh doanh',
    bare: 'không tìm thấy|không có kết quả',
  },
  id: {
    things:
      'halaman|laman|konten|artikel|produk|barang|berkas|dokumen|iklan|lowongan|acara|profil|pengguna|video|gambar|berita|resep',
    gone: '(?:tidak|tak) (?:dapat |bisa )?(?:ditemukan|tersedia|dijumpai|wujud)|tidak lagi (?:ada|tersedia)|sudah (?:tidak (?:ada|tersedia)|dihapus|berakhir)|telah (?:dihapus|berakhir|ditutup)|kedaluwarsa',
    bare: '(?:tidak|tak) ditemukan|tidak ada hasil',
  },
  th: {
    things: 'หน้า|เนื้อหา|บทความ|สินค้า|ไฟล์|ประกาศ|ผู้ใช้|วิดีโอ|ข่าว',
    gone: 'ไม่พบ|ไม่มี(?:อยู่|แล้ว|สินค้า)|ไม่สามารถ(?:ค้นหา|หา|ใช้)|ถูกลบ|หมดอายุ',
    bare: 'ไม่พบ(?:ข้อมูล|ผลลัพธ์)?',
  },
};

/**
 * `gone`: a segment of the text states that a thing does not exist. `bare`: a segment is little more than "Not found" or
 * "404". `mentions`: the text has the words, but they may be the subject of an article or a name.
 */
export type Saying = 'gone' | 'bare' | 'mentions' | null;

const NUMBER =
  '(?:http|error|erreur|fehler|errore|erro|oops|fout|fel|fejl|feil|virhe|chyba|błąd|hata|hiba|eroare|lỗi|σφάλμα|ошибка|помилка|エラー|错误|錯誤|오류|خطأ|שגיאה|خطای)';
/** A segment that is the number, alone or with a word. */
const ONLY_404 = new RegExp(
  `^(?:${NUMBER}[\\s#!.:_-]*)?(?:${NUMBER}[\\s#!.:_-]*)?(?:404|410)[\\s!.:_-]*(?:error|erreur|fehler|errore|erro|page|not found|错误|エラー|오류)?[\\s!.]*$`,
  'u',
);
const WITH_404 = new RegExp(`${NUMBER}[\\s#:-]*(?:404|410)(?!\\d)|(?<!\\d)404[\\s-]*(?:error|page|fehler)`, 'u');

/** A prefilter for all languages, anchored at starts of words; nearly every title fails it. */
const ANY = new RegExp(
  `404|410|(?<![a-z])(?:${Object.values(LANGUAGES)
    .map(({ gone, bare }) => (bare === undefined ? gone : `${gone}|${bare}`))
    .join('|')})`,
  'u',
);
const COMPILED = Object.values(LANGUAGES).map(({ things, gone, bare }) => ({
  things: new RegExp(things, 'u'),
  gone: new RegExp(gone, 'u'),
  bare: bare === undefined ? null : new RegExp(bare, 'u'),
}));

/** Separates a title's statement from its site's name and from other sentences. */
const SEPARATORS = /[|•·»«—–]|\s[-~/]\s|\.\.\.|…|(?<=[.!?])\s|(?<=[。！？])/;
/** Separates a statement from its subject, as in "404 Not Found: /page". */
const COLON = ':';
/** Text in quotation marks, which describes something else. */
const QUOTED = /["“„«「『][^"“”»」』]{0,100}["“”»」』]/gu;
/** Marks of questions, advice and articles about such pages, and of pages away only for now or for this region. */
const ABOUT =
  /[?？؟]|temporar|currently|maintenance|at the moment|in your (?:country|region|area|location)|vorübergehend|derzeit|momentan|temporair|actuellement|temporal|momentáneamente|в данный момент|временно|в вашем регионе|тимчасово|一時的|お住まいの地域|暂时|所在地区|일시적|\((?!\s*(?:error|http|fehler|erreur)?\s*4\d\d)|(?<!\p{L})(?:how to|how do|how i|why|what (?:is|are|to|happens|does|it)|when (?:a|the|your)|fix(?:ing|es|ed)?|solved?|solving|resolve|troubleshoot\p{L}*|guide|tips|best|examples|meaning|explained|tutorial|history|says|after|since|study|custom|exception|pages about|errors? (?:in|on|with|when|while|for)|(?:found|404) pages|wie|was (?:ist|bedeutet|tun|sie)|warum|wenn|hilfe|beheben|lösung\p{L}*|bedeutet|nach|comment|que faire|pourquoi|résoudre|corriger|quand|cómo|qué|por qué|solucion\p{L}*|significa\p{L}*|come|cosa|perché|risolvere|como|o que|por que|resolver|corrigir|jak|dlaczego|pomoc\p{L}*|proszę|napraw\p{L}*|proč|hur|varför|hvordan|hvorfor|miten|miksi|nasıl|nedir|neden|çözüm\p{L}*|как|что|почему|исправить|як|чому|виправити|hoe|waarom|oplossen|hogyan|miért|cum|πώς|γιατί|cách|tại sao|cara|mengapa|mengatasi|कैसे|क्यों|איך|למה|كيف|لماذا)(?!\p{L})|対処|方法|原因|とは|解決|怎么|如何|解决|什么|原因|해결|방법|원인|이유/u;
/** Characters of the longest statement. */
const MAX_STATEMENT = 90;
/** Characters that a bare segment may have besides the phrase, as in "Sorry, not found!". */
const SLACK = 14;

/** Whether a title, a heading or a page's only sentence says that the page does not exist. */
export function notFoundSaying(text: string): Saying {
  const folded = text.toLowerCase().replaceAll(/[’‘`´]/g, "'");
  if (!ANY.test(folded)) return null;
  let saying: Saying = null;
  for (const segment of folded.replace(QUOTED, ' ').split(SEPARATORS)) {
    if (ABOUT.test(segment)) continue;
    for (const piece of segment.split(COLON)) {
      const part = piece.trim();
      if (isGone(part)) return 'gone';
      if (isBare(part)) saying = 'bare';
    }
  }
  return saying ?? mentions(folded);
}

function isGone(part: string): boolean {
  if (part.length > MAX_STATEMENT) return false;
  return COMPILED.some(({ things, gone }) => gone.test(part) && things.test(part));
}

function isBare(part: string): boolean {
  if (ONLY_404.test(part)) return true;
  return COMPILED.some(({ bare }) => {
    const found = bare?.exec(part);
    return found != null && part.length <= found[0].length + SLACK;
  });
}

function mentions(folded: string): Saying {
  if (WITH_404.test(folded)) return 'mentions';
  const said = COMPILED.some(
    ({ things, gone, bare }) => bare?.test(folded) === true || (gone.test(folded) && things.test(folded)),
  );
  return said ? 'mentions' : null;
}
