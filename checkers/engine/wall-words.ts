// What walls say in other languages than English: prove that you are no robot, your requests look automated, your address is blocked.
// "Access denied" alone is no mark, because honest refusals say it too.

const WORDS: readonly RegExp[] = [
  // German, Dutch, Swedish, Danish and Norwegian, Finnish
  /kein Roboter|Sind Sie ein (?:Mensch|Roboter)|ein Mensch sind|(?:Ihr Browser wird|Überprüfung Ihres Browsers)/i,
  /Ihre IP(?:-Adresse)? (?:wurde|ist) (?:gesperrt|blockiert)|ungewöhnliche[nr]? (?:Datenverkehr|Aktivität)|automatisierte (?:Zugriffe|Anfragen)/i,
  /geen robot|een mens (?:bent|ben)|IP-adres is geblokkeerd|ongebruikelijk verkeer|inte (?:är )?en robot|är en människa|ikke (?:er )?en robot|et ole robotti/i,
  // French, Spanish, Portuguese, Italian, Romanian, Catalan
  /pas un robot|Êtes-vous un (?:robot|humain)|vous êtes (?:bien )?(?:un )?humain|adresse IP a été (?:bloquée|bannie)|trafic inhabituel|activité (?:inhabituelle|suspecte)|requêtes automatisées/i,
  /no (?:soy|eres|es) un robot|que (?:eres|es) (?:un )?humano|tráfico inusual|actividad (?:sospechosa|inusual)|IP ha sido bloquead|no (?:sóc|ets) un robot/i,
  /não (?:sou|é) um robô|que (?:você )?é (?:um )?humano|tráfego incomum|atividade suspeita|IP foi bloquead/i,
  /non (?:sono|sei|essere) un robot|(?:di essere|che sei) umano|attività sospett|traffico (?:anomalo|insolito)|indirizzo IP è stato bloccato|nu (?:sunteți|ești|sunt) (?:un )?robot/i,
  // Polish, Czech, Slovak, Hungarian, Croatian and Serbian
  /nie jeste[śm] robotem|jesteś człowiekiem|nietypowy ruch|adres IP został zablokowany|(?:nejste|nejsem) robot|jste člověk|nie (?:ste|som) robot|nem (?:vagy )?robot|nist?[ei] robot/i,
  // Russian, Ukrainian, Bulgarian
  /не (?:сте )?робот|вы человек|ви людина|проверка браузера|проверяем ваш браузер|подозрительн[а-я]{1,3} (?:активност|трафик|запрос)|автоматическ[а-я]{1,3} запрос|підозріл[а-яі]{1,3} (?:активн|трафік|запит)|IP(?:-адрес)? заблокирован/i,
  // Turkish, Indonesian and Malay, Vietnamese, Thai, Greek
  /robot olmadığınız|insan olduğunuz|bukan (?:seorang )?robot|không phải (?:là )?(?:robot|người máy)|ไม่ใช่หุ่นยนต์|δεν είστε ρομπότ/i,
  // Chinese, Japanese, Korean
  /(?:安全|人机|人機|访问|滑动)(?:验证|驗證)|请完成验证|(?:访问|请求|請求)(?:过于|過於)频?頻?繁|访问(?:已)?被(?:阻断|拦截)|(?:请求|访问)存在异常|[异異]常流量|异常访问|不是机器人|不是機器人/i,
  /ロボットではない|人間であること|不審なアクセス|自動化された(?:アクセス|リクエスト)|로봇이 아[님닙]|자동화된 (?:요청|접근|접속)|비정상적인 (?:접근|접속|트래픽|요청)|사람인지 확인/i,
  // Persian, Arabic, Hebrew
  /ربات نیستید|در حال انتقال به سایت|لست روبوت|أنك إنسان|אינך רובוט/i,
];

/** Whether a text, decoded, has them. */
export const saysWall = (text: string): boolean => WORDS.some((words) => words.test(text));
