// The letters of languages beyond ASCII, the most frequent first, and the code pages in which texts of each language are kept.

interface Script {
  /** The first one is meant where all are equal. */
  encodings: readonly string[];
  /** For each language its letters in lower case. */
  languages: readonly string[];
}

const EAST_EUROPEAN = ['łążęśóćźń', 'íáéěřžčšýůúťňďó', 'áíčéýšžúľťňďôóäĺŕ', 'áéöóőüíúűä', 'ăţşîâ', 'čšžćđ'];

/** German, French, Spanish, Portuguese, Italian, Swedish and Finnish, Danish and Norwegian, Icelandic, Dutch, Catalan. */
const WEST_EUROPEAN = [
  ...[
    'äüöß',
    'éèàêçùôîûâœëïÿ',
    'óíáéñúü',
    'ãçéáóíêõâúàô',
    'èàùòìé',
    'äöåé',
    'øåæéö',
    'áðíöóúþéýæ',
    'ëéïèüö',
    'àèéíòóçïúü',
  ],
];

/** Code pages of one byte a letter. */
export const SCRIPTS: readonly Script[] = [
  { encodings: ['windows-1252', 'macintosh'], languages: WEST_EUROPEAN },
  { encodings: ['windows-1250', 'iso-8859-2'], languages: EAST_EUROPEAN },
  { encodings: ['windows-1254'], languages: ['ıüşğçöİâîû'] },
  { encodings: ['windows-1257'], languages: ['ėųšžįąčūę', 'āīšēķūļžņčģ', 'äõüöšž'] },
  { encodings: ['windows-1258'], languages: ['\u0323\u0301\u0300đôưâêơ\u0309ă\u0303áàíéúóèùãýì'] },
  {
    encodings: ['windows-1251', 'koi8-r', 'koi8-u', 'iso-8859-5', 'ibm866', 'x-mac-cyrillic'],
    languages: [
      'оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё',
      'оаинвіетрскдлмупяьзгбйчхцїюжщєшфґ',
      'аоеинтсрвлдкмпзгбущчъжцхяшфйюь',
      'аиоенрјутсвкдпмлзбгчшњљћхжцђџф',
    ],
  },
  { encodings: ['windows-1253', 'iso-8859-7'], languages: ['αοιετσνηυρπκμλςωίόάέδγήχύθώφβξζψϊϋΐΰ'] },
  { encodings: ['windows-1255'], languages: ['יוהלאתרמבשנםדחעקכפגטסןזצךףץ'] },
  {
    encodings: ['windows-1256', 'iso-8859-6'],
    languages: ['اليمنوتربدسعةفكحقهجأطشىصخإزذضغئآثءظؤ', 'ايرندهمتوسبلکشزقگعخفجحپآطصژچضذغثظئ'],
  },
  { encodings: ['windows-874'], languages: ['านรกอเงยลวมทส่ดตี้ะัคบิปใจหไพุขู์แถชธืำผซญึณ็โฟฉศษภฐฮฎ'] },
];

/** Code pages of two bytes a character: the characters that are frequent, those of the first level, and syllables. */
export const IDEOGRAPHIC: readonly {
  encoding: string;
  frequent: string;
  first_level: RegExp;
  syllables: RegExp | null;
}[] = [
  {
    ...{ encoding: 'shift_jis', syllables: /[\u3041-\u3093\u30a1-\u30f6\u30fc]/, first_level: /[\u4e00-\u9fff]/ },
    frequent: '日本人年大会社新聞事国学東京語内中市出生月時分部者業行前方地場合情報案品商定店',
  },
  {
    ...{ encoding: 'euc-jp', syllables: /[\u3041-\u3093\u30a1-\u30f6\u30fc]/, first_level: /[\u4e00-\u9fff]/ },
    frequent: '日本人年大会社新聞事国学東京語内中市出生月時分部者業行前方地場合情報案品商定店',
  },
  {
    ...{ encoding: 'euc-kr', syllables: null, first_level: /[\uac00-\ud7a3]/ },
    frequent:
      '이다는을에의가고하한로지사기도인은자리스대정어서해라과아시를나일전수부보소제니구상으그우주여공원만들동성있장요개조경국시유비안명화업회신뉴문게페용방음오세내면습십울',
  },
  {
    ...{ encoding: 'gbk', syllables: null, first_level: /[\u4e00-\u9fff]/ },
    frequent:
      '的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运网站京页闻介绍请访试测息新址题标链接品编号类型描述市价格店客服联系',
  },
  {
    ...{ encoding: 'big5', syllables: null, first_level: /[\u4e00-\u9fff]/ },
    frequent:
      '的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活更別打女變四神總何電數安少報才結反受目太量再感建務做接必場件計管期市直資命山金指克許統區保至隊形社便空決治展馬科司五基眼書非則聽白卻界達光放強即像難且權思王象完設式色路記南品住告類求據程北邊死張該交規萬取望覺術領共確傳師觀清今切院讓識候帶導爭運網站臺灣頁聞介紹請參閱訊息新址題標連結編號類型描述價格店客服聯絡',
  },
];
