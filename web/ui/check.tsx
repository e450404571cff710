// A filter that is on or off.
export function Check({ label, is_on, set }: { label: string; is_on: boolean; set(is_on: boolean): void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={is_on} onChange={(event) => set(event.currentTarget.checked)} />
      {label}
    </label>
  );
}
